import { resolve } from 'node:path'
import { isProblem, problem } from '../../core/kit/index.ts'
import { readStoreAddress } from '../../core/snapshots/index.ts'
import { type Logger, silentLogger } from '../../node/index.ts'
import type { Config } from '../config/index.ts'
import { folderStore } from './folder-store.ts'
import { type Guard, guardedStore } from './guarded-store.ts'
import type { ObjectStore, PlainStore } from './object-store.ts'

type ObjectSettings = Pick<Config, 'dataDir' | 'objectStore' | 'objectStoreCredentials'>

type Place = Readonly<{ kind: 'file'; folder: string }> | Readonly<{ kind: 's3'; url: string; credentials: AccessKey }>
type AccessKey = NonNullable<ObjectSettings['objectStoreCredentials']>

/** Where objects are by the settings. Throws CONFIG_INVALID. */
export function objectPlace({ dataDir, objectStore, objectStoreCredentials: credentials }: ObjectSettings): Place {
  if (objectStore === undefined) return { kind: 'file', folder: resolve(dataDir, 'objects') }
  const store = readStoreAddress(objectStore)
  if (typeof store === 'string') throw problem('CONFIG_INVALID', `objectStore ${store} (TENANTRY_OBJECT_STORE)`)
  if (store.kind === 'file') return store
  if (credentials) return { ...store, credentials }
  throw problem(
    'CONFIG_INVALID',
    'objectStore is a bucket: set TENANTRY_OBJECT_STORE_CREDENTIALS_ACCESS_KEY_ID and …_SECRET_ACCESS_KEY too, with an account that may read, write, list and delete there',
  )
}

/** Without a guard a store that is away counts as an empty one: for a store that this process makes itself. */
export async function openObjectStore(
  settings: ObjectSettings,
  { log = silentLogger(), guard }: Readonly<{ log?: Logger; guard?: Guard }> = {},
): Promise<ObjectStore> {
  const store = await plainStore(objectPlace(settings))
  return telling(log, guard ? guardedStore(store, guard) : store)
}

/** The client of buckets is loaded only where there is one: it is large. */
async function plainStore(place: Place): Promise<PlainStore> {
  if (place.kind === 'file') return folderStore(place.folder)
  const { bucketStore } = await import('./bucket-store.ts')
  return bucketStore(place.url, place.credentials)
}

/** Logs the reason of a failure; callers only get OBJECT_STORE_UNAVAILABLE. */
function telling(log: Logger, store: ObjectStore): ObjectStore {
  const fail = (error: unknown): never => {
    if (isProblem(error, 'OBJECT_STORE_UNAVAILABLE')) log.error({ err: error.cause }, 'the object store failed')
    throw error
  }
  return {
    put: (...input) => store.put(...input).catch(fail),
    get: (...input) => store.get(...input).catch(fail),
    remove: (key) => store.remove(key).catch(fail),
    removeBelow: (folder) => store.removeBelow(folder).catch(fail),
    look: () => store.look().catch(fail),
  }
}
