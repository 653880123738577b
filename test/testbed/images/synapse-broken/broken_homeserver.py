"""The real homeserver with two servlets that always answer 500."""
from synapse.api.errors import Codes, SynapseError
from synapse.app.homeserver import main
from synapse.rest.client.room import RoomSendEventRestServlet, RoomStateEventRestServlet
from synapse.rest.client.sync import SlidingSyncRestServlet, SyncRestServlet


async def fail(self, *args, **kwargs):
    raise SynapseError(500, "Broken on purpose, for the tests", Codes.UNKNOWN)


SyncRestServlet.on_GET = fail
SlidingSyncRestServlet.on_POST = fail
RoomSendEventRestServlet.on_PUT = fail
RoomSendEventRestServlet.on_POST = fail
RoomStateEventRestServlet.on_PUT = fail

if __name__ == "__main__":
    main()
