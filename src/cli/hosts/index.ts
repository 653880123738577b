// `tenantry hosts`: invites, lists and revokes hosts, sets their registries and platform address, and guides upgrades of their agents.
// It never connects to a host: the daemon does, through the host's agent, and an upgrade runs the operator's own command.
import { noun } from '../kit/index.ts'
import { invite, list, platform, revoke, show } from './commands.ts'
import { registries } from './registries.ts'
import { upgrade } from './upgrade.ts'

export const hosts = noun('hosts', 'Hosts that run boxes', [invite, list, show, revoke, registries, platform, upgrade])
