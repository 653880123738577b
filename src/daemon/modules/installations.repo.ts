import type { Selectable } from 'kysely'
import type { InstallationState, Permission } from '../../core/modules/index.ts'
import { type DbOrTx, forUpdate, type Tx } from '../db/index.ts'
import type { InstallationTable } from './modules.tables.ts'

/** The version before the last update. */
export type FormerVersion = Readonly<{
  version: string
  permissions: readonly Permission[]
  featureFlag: string
  dataGeneration: number
  dataVersion: number
  dataBytes: number
  /** ISO 8601. */
  updatedAt: string
}>

/** A module of a tenant. Times are ISO 8601. */
export type InstallationRecord = InstallationState &
  Readonly<{
    tenantId: string
    moduleId: string
    version: string
    permissions: readonly Permission[]
    featureFlag: string
    settings: Readonly<Record<string, unknown>>
    generation: number
    dataGeneration: number
    dataVersion: number
    dataBytes: number
    busyUntil: string | null
    former: FormerVersion | null
    formerUntil: string | null
    remote: 'pending' | 'confirmed' | null
    upstreamHost: string | null
    installedAt: string
    activatedAt: string | null
    updatedAt: string
  }>

export const toInstallation = (row: Selectable<InstallationTable>): InstallationRecord => ({
  ...{ tenantId: row.tenant_id, moduleId: row.module_id, version: row.version, status: row.status, paused: row.paused === 1 },
  permissions: JSON.parse(row.permissions) as Permission[],
  settings: JSON.parse(row.settings) as Record<string, unknown>,
  ...{ featureFlag: row.feature_flag, generation: row.generation, dataGeneration: row.data_generation, dataVersion: row.data_version },
  ...{ dataBytes: row.data_bytes, busyUntil: row.busy_until, formerUntil: row.former_until, remote: row.remote },
  former: row.former === null ? null : (JSON.parse(row.former) as FormerVersion),
  ...{ upstreamHost: row.upstream_host, installedAt: row.installed_at, activatedAt: row.activated_at },
  ...{ dataDeleteAt: row.data_delete_at, updatedAt: row.updated_at },
})

const toRow = (one: InstallationRecord) => ({
  ...{ tenant_id: one.tenantId, module_id: one.moduleId, version: one.version, status: one.status, paused: one.paused ? 1 : 0 },
  ...{ permissions: JSON.stringify(one.permissions), settings: JSON.stringify(one.settings), feature_flag: one.featureFlag },
  ...{ generation: one.generation, data_generation: one.dataGeneration, data_version: one.dataVersion, data_bytes: one.dataBytes },
  ...{ busy_until: one.busyUntil, former: one.former && JSON.stringify(one.former), former_until: one.formerUntil },
  ...{ remote: one.remote, upstream_host: one.upstreamHost, installed_at: one.installedAt, activated_at: one.activatedAt },
  ...{ data_delete_at: one.dataDeleteAt, updated_at: one.updatedAt },
})

export type InstallationKey = Readonly<{ tenantId: string; moduleId: string }>

export async function findInstallation(db: DbOrTx, { tenantId, moduleId }: InstallationKey): Promise<InstallationRecord | undefined> {
  const query = db.selectFrom('module_installations').selectAll().where('tenant_id', '=', tenantId).where('module_id', '=', moduleId)
  const row = await query.executeTakeFirst()
  return row && toInstallation(row)
}

/** The installation, locked until the transaction ends: a run that commits waits, and finds another generation. */
export async function lockInstallation(tx: Tx, { tenantId, moduleId }: InstallationKey): Promise<InstallationRecord | undefined> {
  const query = tx.selectFrom('module_installations').selectAll().where('tenant_id', '=', tenantId).where('module_id', '=', moduleId)
  const row = await query.modifyEnd(forUpdate(tx)).executeTakeFirst()
  return row && toInstallation(row)
}

/** Installations of a tenant by module, without deleted ones. */
export async function installationsOf(db: DbOrTx, tenantId: string): Promise<InstallationRecord[]> {
  const query = db.selectFrom('module_installations').selectAll().where('tenant_id', '=', tenantId).where('status', '!=', 'deleted')
  return (await query.orderBy('module_id').execute()).map(toInstallation)
}

/** Returns false if the tenant has a row of the module already. */
export async function insertInstallation(tx: Tx, one: InstallationRecord): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('module_installations')
    .values(toRow(one))
    .onConflict((c) => c.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

export async function setRemote(tx: Tx, { tenantId, moduleId }: InstallationKey, remote: 'pending' | 'confirmed'): Promise<void> {
  await tx.updateTable('module_installations').set({ remote }).where('tenant_id', '=', tenantId).where('module_id', '=', moduleId).execute()
}

/** Replaces a row that the transaction has locked. */
export async function replaceInstallation(tx: Tx, one: InstallationRecord): Promise<void> {
  const { tenant_id, module_id, ...rest } = toRow(one)
  await tx.updateTable('module_installations').set(rest).where('tenant_id', '=', tenant_id).where('module_id', '=', module_id).execute()
}
