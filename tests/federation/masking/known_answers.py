"""Test vectors for other implementations; `python -m tests.federation.masking.known_answers` writes them."""

import hashlib
import json
from pathlib import Path

from fedrcd.federation.masking.derivation import MaskUse, RunKey, mask, pair_chain, public_key
from fedrcd.federation.masking.ring import RINGS
from fedrcd.federation.masking.site_run import transcript_of
from fedrcd.federation.masking.statements import OWN_SUMS, RollCall, RunTerms
from fedrcd.federation.messages.digests import canonical

FILE = Path(__file__).parent / "vectors.json"
SECRETS = {name: hashlib.sha256(name.encode()).digest() for name in ("north", "south", "west")}


def roll_calls():
    """What three sites would sign."""
    cohort = tuple(SECRETS)
    request = RunTerms(
        federation="f" * 64,
        run="0" * 31 + "1",
        plan=canonical({"method": "fedrcd-ni"}),
        cohort=cohort,
        expires=2000000000,
    )
    return [
        RollCall(
            federation=request.federation,
            run=request.run,
            plan=request.plan_digest,
            cohort=cohort,
            site=site,
            key=public_key(secret).hex(),
            edition=f"{k:032x}",
            rows=1 << k + 9,
            judges=OWN_SUMS,
            expires=request.expires,
        )
        for k, (site, secret) in enumerate(SECRETS.items())
    ]


def vectors():
    """The masks of all pairs, in both rings, and what leads to them."""
    said = roll_calls()
    transcript = transcript_of(said)
    found = []
    for i, one in enumerate(said):
        for other in said[i + 1 :]:
            pair = (RunKey(one.site, one.run_key), RunKey(other.site, other.run_key))
            chain = pair_chain(SECRETS[one.site], other.run_key, transcript, pair)
            for name, ring in RINGS.items():
                use = MaskUse(1, "5" * 64, 3, ring)
                found.append(
                    {
                        "name": f"{one.site} and {other.site}, {name}",
                        "secret": SECRETS[one.site].hex(),
                        "other key": other.key,
                        "pair": [[own.site, own.key.hex()] for own in pair],
                        "roll calls": [own.content.decode() for own in said],
                        "transcript": transcript.hex(),
                        "chain": chain.hex(),
                        "round": use.round,
                        "question": use.question,
                        "length": use.length,
                        "ring": name,
                        "mask": ring.to_bytes(mask(chain, transcript, use)).hex(),
                    }
                )
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
