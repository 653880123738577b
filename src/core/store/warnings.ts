import type { ModuleManifest } from '../modules/index.ts'

type Declared = Pick<ModuleManifest, 'type' | 'permissions' | 'events' | 'dataProcessing'>

/** Findings that reject nothing: what a reviewer decides and a scan cannot. */
export function manifestWarnings({ type, permissions, events, dataProcessing }: Declared): string[] {
  if (type === 'A') return []
  const { operator = 'its developer', country = '' } = dataProcessing ?? {}
  const place = `the server of ${operator}${country === '' ? '' : ` (${country})`}`
  const reads = permissions.filter((permission) => permission.endsWith(':read'))
  const subscribed = events.subscribes
  return [
    ...(reads.length > 0 ? [`Data of tenants reaches ${place}: ${reads.join(', ')}`] : []),
    ...(subscribed.length > 0 ? [`Events of tenants reach ${place}: ${subscribed.join(', ')}`] : []),
  ]
}
