"""What a schema cannot say of a request that is to be let in."""

import ast
import atexit
import json
import os
import re
from collections import Counter, defaultdict
from itertools import count
from threading import RLock

import schemathesis

CALLERS = set(os.environ["TENANTRY_CONFORMITY_CALLERS"].split(","))
# Ids that exist, by place (`spaces/{spaceId}`) or whole path, and more by operation (`GET /path`): without them an operation would answer 404 alone.
SEEDS = json.loads(os.environ["TENANTRY_CONFORMITY_SEEDS"])
TENANT = os.environ["TENANTRY_CONFORMITY_TENANT"]
ENDS = re.compile(r"/(disable|revoke|remove|cancel|suspend|withdraw|deactivate)$")
# Valid calls by operation: counted together, two threads could leave an operation without a seed.
turns = defaultdict(count)
seeded = count()

# Before Python 3.12, two threads that parse at once break each other ("AST constructor recursion depth mismatch").
parse, one_parser = ast.parse, RLock()


def parse_alone(*args, **kwargs):
    with one_parser:
        return parse(*args, **kwargs)


ast.parse = parse_alone


@schemathesis.hook
def before_call(context, case, kwargs):
    name_existing(case)
    name_tenant(case)
    spare_callers(case)
    if case.meta and case.meta.generation.mode.is_positive and case.query:
        case.query.pop("cursor", None)  # a right one is only what the page before returned


def name_existing(case):
    """Three of four valid calls name what exists. Calls that end something take from the second half, so that the first half stays."""
    if not (case.meta and case.meta.generation.mode.is_positive):
        return
    if next(turns[case.method, case.path]) % 4 == 3:
        return
    half = len(SEEDS) // 2
    ends = case.method == "DELETE" or ENDS.search(case.path)
    seed = SEEDS[next(seeded) % half + (half if ends else 0)]
    for place in re.finditer(r"([\w-]+/)\{(\w+)\}", case.path):
        known = seed.get(case.path[: place.end()], seed.get(place.group()))
        if known is not None:
            case.path_parameters[place.group(2)] = known
    for name, value in seed.get(f"{case.method} {case.path}", {}).items():
        name_one(case, name, value)


def name_one(case, name, value):
    """A parameter of the path, a field of the body, or a parameter of the query."""
    if name in (case.path_parameters or {}):
        case.path_parameters[name] = value
    elif isinstance(case.body, dict):
        case.body[name] = value
    elif case.query is not None and case.method == "GET":
        case.query[name] = value


def name_tenant(case):
    """A valid call of an automation tool acts for the tenant of its key."""
    if not ("/auto-callback/" in case.path and case.meta and case.meta.generation.mode.is_positive):
        return
    if case.method == "GET" and case.query is not None:
        case.query.pop("slug", None)
        case.query.pop("chatDomain", None)
        case.query["tenantId"] = TENANT
    elif isinstance(case.body, dict):
        case.body["tenantId"] = TENANT


def spare_callers(case):
    """A change that names a caller, its session, tenant or host meets nobody: shut out, it would be refused whatever it asks from then on."""
    if case.method == "GET" or case.path.startswith("/api/platform"):
        return
    for name, value in (case.path_parameters or {}).items():
        if value in CALLERS:
            case.path_parameters[name] = value[:4] + "0" * 20 if value[3:4] == "_" else "nobody"


answers = defaultdict(Counter)


@schemathesis.hook
def after_call(context, case, response):
    answers[f"{case.method} {case.path}"][response.status_code] += 1


@atexit.register
def write_answers():
    with open(os.environ["TENANTRY_CONFORMITY_ANSWERS"], "w") as file:
        json.dump(answers, file)
