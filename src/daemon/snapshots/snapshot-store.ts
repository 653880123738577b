import { hkdfSync } from 'node:crypto'
import type { BoxId, CommandSecrets, TenantId } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { boxById } from '../boxes/index.ts'
import type { Config } from '../config/index.ts'
import type { DbOrTx } from '../db/index.ts'

/** The part of the settings that says where snapshots go and what opens them. */
export type SnapshotSettings = Pick<Config, 'backupKey' | 'snapshotStore' | 'snapshotStoreCredentials'>

type Usable = Readonly<{ backupKey: string; snapshotStore: string; env: Readonly<Record<string, string>> }>

/** It rises when the backup key is replaced: repositories made with the former one keep theirs. */
const keyVersion = 'v1'

/** Throws CONFIG naming every setting that is missing: without a snapshot there is no update. */
export function requireSnapshots({ backupKey, snapshotStore, snapshotStoreCredentials }: SnapshotSettings): Usable {
  const needsCredentials = snapshotStore?.startsWith('s3://') && !snapshotStoreCredentials
  if (backupKey && snapshotStore && !needsCredentials) return { backupKey, snapshotStore, env: environmentOf(snapshotStoreCredentials) }
  const missing = [
    ...(backupKey ? [] : ['TENANTRY_BACKUP_KEY']),
    ...(snapshotStore ? [] : ['TENANTRY_SNAPSHOT_STORE']),
    ...(needsCredentials ? ['TENANTRY_SNAPSHOT_STORE_CREDENTIALS_ACCESS_KEY_ID and …_SECRET_ACCESS_KEY'] : []),
  ]
  throw problem(
    'CONFIG',
    `no box is updated without a snapshot, and for that ${missing.join(' and ')} must be set; then restart the daemon`,
  )
}

const environmentOf = (credentials: SnapshotSettings['snapshotStoreCredentials']): Record<string, string> =>
  credentials ? { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey } : {}

type Repository = NonNullable<CommandSecrets['snapshots']>

/** A tenant's repository as restic names it, and the password that only this tenant's has. Throws CONFIG. */
export function snapshotRepository(settings: SnapshotSettings, tenantId: TenantId): Repository {
  const { backupKey, snapshotStore, env } = requireSnapshots(settings)
  const password = Buffer.from(hkdfSync('sha256', Buffer.from(backupKey, 'base64'), tenantId, `snapshots ${keyVersion}`, 32))
  return { repository: `${locationOf(snapshotStore)}/${tenantId}/${keyVersion}`, password: password.toString('base64url'), env }
}

/** `s3://host/bucket` is `s3:https://host/bucket` to restic, `file:/folder` the folder itself. */
const locationOf = (store: string): string =>
  (store.startsWith('s3://') ? `s3:https://${store.slice('s3://'.length)}` : store.slice('file:'.length)).replace(/\/+$/, '')

/** The secrets of a box's command. Throws CONFIG. */
export const commandSecrets =
  (settings: SnapshotSettings) =>
  async (db: DbOrTx, { boxId }: { boxId: string }): Promise<CommandSecrets> => {
    const box = await boxById(db, boxId as BoxId)
    if (!box) throw problem('NOT_FOUND', `there is no box with the id ${boxId}`)
    return { snapshots: snapshotRepository(settings, box.tenantId) }
  }
