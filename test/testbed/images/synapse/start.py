#!/usr/bin/python3
"""Starts Synapse as the official image does: config by SYNAPSE_CONFIG_PATH, user by UID and GID, Synapse itself as PID 1."""
import os
import sys

args = sys.argv[1:]
mode, extra = (args[0], args[1:]) if args and not args[0].startswith("-") else ("run", args)
if mode != "run":
    sys.exit(f"start.py: this test image only knows 'run', not '{mode}'")

config = os.environ.get("SYNAPSE_CONFIG_PATH") or os.path.join(os.environ.get("SYNAPSE_CONFIG_DIR", "/data"), "homeserver.yaml")
if not os.path.exists(config):
    sys.exit(f"Config file '{config}' does not exist.")

if os.getuid() == 0:
    os.setgroups([])
    os.setgid(int(os.environ.get("GID", "991")))
    os.setuid(int(os.environ.get("UID", "991")))

worker = os.environ.get("SYNAPSE_WORKER", "synapse.app.homeserver")
os.execv("/usr/bin/python3", ["/usr/bin/python3", "-m", worker, "--config-path", config, *extra])
