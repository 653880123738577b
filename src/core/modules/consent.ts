import type { ModuleManifest } from './manifest.ts'
import type { Permission } from './permissions.ts'

const texts: Readonly<Record<Permission, string>> = {
  'spaces:read':
    'Reads names of spaces and their events: in events all of your organisation, private ones included; in requests those of the user',
  'files:read': 'Reads files: in events all of your organisation, in requests those that the user may read',
  'files:write': 'Writes files into spaces of your organisation; they count for its storage',
  'events:publish': 'Publishes events that administrators, members of a space and other modules receive',
  'events:subscribe': 'Receives events of your organisation',
}

type Declared = Pick<ModuleManifest, 'permissions' | 'events' | 'type' | 'dataProcessing'>

/** The sentences that an administrator agrees to by the installation. A reader and a server of its own are named as a pair. */
export function consentOf({ permissions, events, type, dataProcessing }: Declared): readonly string[] {
  const declared = permissions.map((one) =>
    one === 'events:subscribe' && events.subscribes.length > 0 ? `${texts[one]}: ${events.subscribes.join(', ')}` : texts[one],
  )
  if (type === 'A' || !dataProcessing) return declared
  const { operator, country, privacyUrl } = dataProcessing
  return [...declared, `Runs on the server of ${operator} (${country}): events and requests of users leave this platform (${privacyUrl})`]
}
