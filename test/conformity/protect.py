"""What a schema cannot say of a request that is to be let in."""

import ast
import atexit
import json
import os
import re
from collections import defaultdict
from itertools import count
from threading import RLock

import schemathesis

CALLERS = set(os.environ["TENANTRY_CONFORMITY_CALLERS"].split(","))
# Ids that exist, by place (`spaces/{spaceId}`) or whole path, and more by operation (`GET /path`): without them an operation would answer 404 alone.
SEEDS = json.loads(os.environ["TENANTRY_CONFORMITY_SEEDS"])
TENANT = os.environ["TENANTRY_CONFORMITY_TENANT"]
HALF = len(SEEDS) // 2
# Of the ids that end, the last seed is for calls that end what the others lie in: a tenant with its users, a space with its folders.
ENDS = re.compile(r"/(disable|revoke|remove|cancel|suspend|withdraw|deactivate|erase|delete|archive|abort)$")
# What a call that ends something names instead of an id of the first half.
SPARE = {
    value: SEEDS[n + HALF][place]
    for n in range(HALF)
    for place, value in SEEDS[n].items()
    if isinstance(value, str) and SEEDS[n + HALF][place] != value
}
# Other ids must stay with what lies in them: calls that end the whole of one name the last, however they came to their id.
LAST = {
    value: SEEDS[-1][place]
    for seed in SEEDS[:-1]
    for place, value in seed.items()
    if isinstance(value, str) and SEEDS[-1][place] != value
}
# Valid calls by operation: counted together, two threads could leave an operation without a seed.
turns = defaultdict(count)
seeded = count()
# Statuses of valid calls by operation, for the test.
answers = defaultdict(set)
named_first = 3

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
    spare_first_half(case)
    spare_callers(case)
    if case.meta and case.meta.generation.mode.is_positive and case.query:
        case.query.pop("cursor", None)  # a right one is only what the page before returned


def name_existing(case):
    """The first valid calls and then every other one name what exists. Calls that end something take from the second half, so that the first half stays."""
    if not (case.meta and case.meta.generation.mode.is_positive):
        return
    turn = next(turns[case.method, case.path])
    if turn >= named_first and turn % 2:
        return
    seed = seed_for(case)
    for place in re.finditer(r"([\w-]+/)\{(\w+)\}", case.path):
        known = seed.get(case.path[: place.end()], seed.get(place.group()))
        if known is not None:
            case.path_parameters[place.group(2)] = known
    # Some of these wait for a host that does not answer.
    if turn < named_first:
        for name, value in seed.get(f"{case.method} {case.path}", {}).items():
            name_one(case, name, value)


def ends(case):
    if "/module-api/" in case.path:
        return False  # the module decides what its paths do
    return case.method == "DELETE" or ENDS.search(case.path)


def seed_for(case):
    turn = next(seeded)
    if not ends(case):
        return SEEDS[turn % HALF]
    return SEEDS[-1] if case.path.count("{") == 1 else SEEDS[HALF + turn % (HALF - 1)]


def spare_first_half(case):
    """Also calls that follow a link of an answer, and wrong ones, end nothing that others name."""
    if ends(case):
        spare = LAST if case.path.count("{") == 1 else SPARE
        for name, value in (case.path_parameters or {}).items():
            case.path_parameters[name] = spare.get(value, value)


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


@schemathesis.hook
def after_call(context, case, response):
    # A wrong call that succeeds has met what it names too, and may have ended it before a valid one did.
    if (case.meta and case.meta.generation.mode.is_positive) or response.status_code < 300:
        answers[f"{case.method} {case.path}"].add(response.status_code)


@atexit.register
def hand_over_answers():
    with open(os.environ["TENANTRY_CONFORMITY_ANSWERS"], "w") as file:
        json.dump({operation: sorted(statuses) for operation, statuses in answers.items()}, file)
