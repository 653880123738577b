// `tenantry hosts`: the machines that carry boxes: invite, look, shut out, and how they pull images.
// It never talks to a host itself; the daemon does, through the host's agent.
import { noun } from '../kit/index.ts'
import { invite, list, platform, revoke, show } from './commands.ts'

import { registries } from './registries.ts'

export const hosts = noun('hosts', 'Machines that carry boxes', [invite, list, show, revoke, registries, platform])
