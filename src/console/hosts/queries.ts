import type { HostView } from '../../core/hosts/index.ts'
import { problem } from '../../core/kit/index.ts'
import { api, type Tone } from '../kit/index.ts'

export const hostsQuery = { queryKey: ['hosts', 'list'], queryFn: () => api.hosts.listHosts() } as const

export const hostQuery = (name: string) => ({ queryKey: ['hosts', name], queryFn: () => oneHost(name) }) as const

/** From the list: the name of an older host may be a word of the API's paths. */
async function oneHost(name: string): Promise<HostView> {
  const { hosts } = await api.hosts.listHosts()
  const found = hosts.find((host) => host.name === name)
  if (!found) throw problem('NOT_FOUND', `host ${name} does not exist`)
  return found
}

export const registriesQuery = { queryKey: ['hosts', 'registries'], queryFn: () => api.hosts.listRegistries() } as const

export const hostTone = ({ status, skewed, diskLow }: HostView): Tone => {
  if (status === 'revoked') return 'off'
  if (status !== 'online') return 'failed'
  return skewed || diskLow ? 'warning' : 'ok'
}
