#!/usr/bin/python3
import sys

sys.exit("This homeserver dies at its start, on purpose, for the tests")
