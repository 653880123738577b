// `tenantry hosts`: the machines that carry boxes: invite, look, shut out, and how they pull images.
// It never talks to a host itself; the daemon does, through the host's agent.
import { noun } from '../kit/index.ts'
import { invite } from './invite.ts'
import { list } from './list.ts'
import { platform } from './platform.ts'
import { registries } from './registries.ts'
import { revoke } from './revoke.ts'
import { show } from './show.ts'

export const hosts = noun('hosts', 'Machines that carry boxes', [invite, list, show, revoke, registries, platform])
