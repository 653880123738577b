"""What a schema cannot say of a request that is to be let in."""

import os

import schemathesis

CALLERS = set(os.environ["TENANTRY_CONFORMITY_CALLERS"].split(","))


@schemathesis.hook
def before_call(context, case, kwargs):
    spare_callers(case)
    if case.meta and case.meta.generation.mode.is_positive and case.query:
        case.query.pop("cursor", None)  # a right one is only what the page before returned


def spare_callers(case):
    """A change that names a caller, its session, tenant or host meets nobody: shut out, it would be refused whatever it asks from then on."""
    if case.method == "GET" or case.path.startswith("/api/platform"):
        return
    for name, value in (case.path_parameters or {}).items():
        if value in CALLERS:
            case.path_parameters[name] = value[:4] + "0" * 20 if value[3:4] == "_" else "nobody"
