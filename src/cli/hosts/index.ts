// `tenantry hosts`: invites, lists and revokes hosts, and sets their registries and platform address.
// It never connects to a host: the daemon does, through the host's agent.
import { noun } from '../kit/index.ts'
import { invite, list, platform, revoke, show } from './commands.ts'
import { registries } from './registries.ts'

export const hosts = noun('hosts', 'Hosts that run boxes', [invite, list, show, revoke, registries, platform])
