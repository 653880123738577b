import { hkdfSync } from 'node:crypto'
import type { BoxId, CommandSecrets } from '../../core/boxes/index.ts'
import { problem, type TenantId } from '../../core/kit/index.ts'
import { readStoreAddress, type StoreAddress } from '../../core/snapshots/index.ts'
import { boxById } from '../boxes/index.ts'
import type { Config } from '../config/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { repositoryRow } from './snapshots.repo.ts'
import { type AccessKey, type SessionDeps, storeSession } from './store-session.ts'

/** The settings of the snapshot store and its keys. */
export type SnapshotSettings = Pick<
  Config,
  'backupKey' | 'snapshotStore' | 'snapshotStoreCredentials' | 'snapshotSessions' | 'recoveryKey' | 'snapshotUpkeep'
>

type Usable = Readonly<{ backupKey: string; store: StoreAddress; credentials: AccessKey | undefined }>

/** Increased when the backup key is replaced; existing repositories keep their version. */
const keyVersion = 'v1'

/** Throws CONFIG with every missing setting. */
export function assertSnapshotsConfigured({ backupKey, snapshotStore, snapshotStoreCredentials: credentials }: SnapshotSettings): Usable {
  const store = snapshotStore === undefined ? undefined : readStoreAddress(snapshotStore)
  if (typeof store === 'string') throw problem('CONFIG', `TENANTRY_SNAPSHOT_STORE ${store}`)
  const needsCredentials = store?.kind === 's3' && !credentials
  if (backupKey && store && !needsCredentials) return { backupKey, store, credentials }
  const missing = [
    ...(backupKey ? [] : ['TENANTRY_BACKUP_KEY']),
    ...(store ? [] : ['TENANTRY_SNAPSHOT_STORE']),
    ...(needsCredentials ? ['TENANTRY_SNAPSHOT_STORE_CREDENTIALS_ACCESS_KEY_ID and …_SECRET_ACCESS_KEY'] : []),
  ]
  throw problem(
    'CONFIG',
    `snapshots are not configured, so no box can be updated. fix: set ${missing.join(' and ')}, then restart the daemon`,
  )
}

/** One that is identical to the backup key is lost with it. */
export const hasRecoveryKey = ({ recoveryKey, backupKey }: Pick<SnapshotSettings, 'recoveryKey' | 'backupKey'>): boolean =>
  recoveryKey !== undefined && recoveryKey !== backupKey

type Repository = NonNullable<CommandSecrets['snapshots']>

/** A tenant's repository in the form of restic, with passwords unique to the tenant. Throws CONFIG. */
export function snapshotRepository(settings: SnapshotSettings, tenantId: TenantId): Repository {
  const { backupKey, store, credentials } = assertSnapshotsConfigured(settings)
  const { recoveryKey } = settings
  return {
    repository: repositoryAddress(store, tenantId),
    password: derived(backupKey, tenantId, `snapshots ${keyVersion}`),
    env: environmentOf(credentials),
    ...(recoveryKey ? { recoveryPassword: recoveryPassword(recoveryKey, tenantId) } : {}),
  }
}

/** The same repository for maintenance by the daemon, with the credential that agents lack. Throws CONFIG. */
export function maintenanceRepository(settings: SnapshotSettings, tenantId: TenantId): Repository {
  const { snapshotUpkeep, snapshotStoreCredentials } = settings
  return { ...snapshotRepository(settings, tenantId), env: environmentOf(snapshotUpkeep ?? snapshotStoreCredentials) }
}

/** True when the store is a bucket, which the daemon maintains; repositories on hosts are maintained by agents. */
export const reachesStore = ({ snapshotStore }: SnapshotSettings): boolean => {
  const store = readStoreAddress(snapshotStore ?? '')
  return typeof store !== 'string' && store.kind === 's3'
}

/** The second password of a tenant's repository, derived from the recovery key and the tenant's id alone. */
export const recoveryPassword = (recoveryKey: string, tenantId: string): string => derived(recoveryKey, tenantId, 'snapshots recovery v1')

const derived = (key: string, tenantId: string, purpose: string): string =>
  Buffer.from(hkdfSync('sha256', Buffer.from(key, 'base64'), tenantId, purpose, 32)).toString('base64url')

const environmentOf = (credentials: AccessKey | undefined): Record<string, string> =>
  credentials ? { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey } : {}

/** restic's address: `s3:https://host/bucket/…` for a bucket, the path for a folder. */
export const repositoryAddress = (store: StoreAddress, tenantId: string): string =>
  `${store.kind === 's3' ? `s3:${store.url}` : store.folder}/${tenantId}/${keyVersion}`

/**
 * The repository for one command of an agent, with a session credential where a session service is configured.
 * Throws CONFIG, SNAPSHOT_STORE_UNAVAILABLE.
 */
export async function agentRepository(deps: SessionDeps, settings: SnapshotSettings, tenantId: TenantId): Promise<Repository> {
  const repository = snapshotRepository(settings, tenantId)
  const { snapshotSessions: sessions, snapshotStoreCredentials: key } = settings
  if (!sessions || !key || !reachesStore(settings)) return repository
  return { ...repository, env: await storeSession(deps, { sessions, key, repository: repository.repository }) }
}

type Known = Readonly<{ mayCreate: boolean; repositoryId?: string }>

/** The known facts of a tenant's repository. It may be created only where it was never seen and no snapshot is expected in it. */
export async function knownRepository(db: DbOrTx, tenantId: string): Promise<Known> {
  const { repository_id } = await repositoryRow(db, tenantId)
  if (repository_id !== null) return { mayCreate: false, repositoryId: repository_id }
  const expected = db.selectFrom('snapshots').select('snapshot_id').where('tenant_id', '=', tenantId).where('status', '!=', 'forgotten')
  return { mayCreate: (await expected.limit(1).executeTakeFirst()) === undefined }
}

/** The secrets of a box's command. Throws CONFIG, SNAPSHOT_STORE_UNAVAILABLE. */
export const commandSecrets =
  ({ settings, ...deps }: SessionDeps & Readonly<{ settings: SnapshotSettings }>) =>
  async (db: DbOrTx, { boxId }: { boxId: string }): Promise<CommandSecrets> => {
    const box = await boxById(db, boxId as BoxId)
    if (!box) throw problem('NOT_FOUND', `box ${boxId} does not exist`)
    return { snapshots: { ...(await agentRepository(deps, settings, box.tenantId)), ...(await knownRepository(db, box.tenantId)) } }
  }
