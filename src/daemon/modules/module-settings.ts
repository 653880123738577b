import { isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { effectiveSettings, type ModuleManifest, secretSettings, settingsValues } from '../../core/modules/index.ts'
import type { DbOrTx, WithTx } from '../db/index.ts'
import { seal, unseal } from '../sealed/index.ts'
import { installedVersion } from './activate-module.ts'
import { auditModule, isBusy } from './change-installation.ts'
import type { ModulesDeps } from './deps.ts'
import { type InstallationKey, type InstallationRecord, lockInstallation, replaceInstallation } from './installations.repo.ts'
import { existingInstallation } from './show-modules.ts'

type Values = Readonly<Record<string, unknown>>
type One = Readonly<{ moduleId: string }>

const placeOf = ({ tenantId, moduleId }: InstallationKey) => ({
  table: 'module_secrets',
  row: `${tenantId}/${moduleId}`,
  column: 'sealed',
})

/** Secret settings of an installation, opened. */
async function secretsOf({ keyring }: Pick<ModulesDeps, 'keyring'>, db: DbOrTx, key: InstallationKey): Promise<Values> {
  const row = await db.selectFrom('module_secrets').select('sealed').where('id', '=', placeOf(key).row).executeTakeFirst()
  return row ? (JSON.parse(unseal(keyring, placeOf(key), row.sealed).reveal()) as Values) : {}
}

/** Settings that a run reads, secrets included. */
export async function settingsOfRun(
  deps: Pick<ModulesDeps, 'keyring'> & Readonly<{ db: DbOrTx }>,
  one: InstallationRecord,
  { settings: schema }: ModuleManifest,
): Promise<Values> {
  const secrets = secretSettings(schema).length > 0 ? await secretsOf(deps, deps.db, one) : {}
  return effectiveSettings(schema, { ...one.settings, ...secrets })
}

export async function showSettings(deps: ModulesDeps, { tenantId }: PlatformPrincipal, { moduleId }: One) {
  const one = await existingInstallation(deps.db, { tenantId, moduleId })
  return viewOf(deps, deps.db, one)
}

async function viewOf(deps: ModulesDeps, db: DbOrTx, one: InstallationRecord) {
  const { settings: schema } = (await installedVersion(db, one)).manifest
  const names = secretSettings(schema)
  const stored = names.length > 0 ? await secretsOf(deps, db, one) : {}
  const values = Object.fromEntries(Object.entries(effectiveSettings(schema, one.settings)).filter(([name]) => !names.includes(name)))
  return { values, secrets: Object.fromEntries(names.map((name) => [name, Object.hasOwn(stored, name)])), schema }
}

/**
 * Replaces the settings. A secret that is missing stays, null removes it; its value is sealed and never read back. Throws NOT_FOUND, VALIDATION with
 * the path of each wrong setting, INVALID_TRANSITION, CONFLICT.
 */
export const changeSettings = (deps: ModulesDeps, actor: PlatformPrincipal, { moduleId, values }: One & Readonly<{ values: Values }>) =>
  deps.db.transaction().execute(async (tx) => {
    const key = { tenantId: actor.tenantId, moduleId }
    await existingInstallation(tx, key)
    const one = (await lockInstallation(tx, key)) as InstallationRecord
    const now = isoNow(deps.clock)
    if (one.status === 'pending_deletion' || one.status === 'deleted')
      throw problem('INVALID_TRANSITION', `Module ${moduleId} is ${one.status}, so its settings cannot change. fix: install it again`)
    if (isBusy(one, now)) throw problem('CONFLICT', `The data of ${moduleId} is being migrated. fix: repeat the request in a minute`)
    const { manifest } = await installedVersion(tx, one)
    const names = secretSettings(manifest.settings)
    const secrets = mergedSecrets(await secretsOf(deps, tx, key), values, names)
    const plain = Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)))
    const valid = validated(manifest, { ...plain, ...secrets })
    const settings = Object.fromEntries(Object.entries(valid).filter(([name]) => !names.includes(name)))
    const next = { ...one, settings, generation: one.generation + 1, updatedAt: now }
    await replaceInstallation(tx, next)
    await storeSecrets({ ...deps, tx }, key, secrets)
    const data = { version: one.version, names: Object.keys(values) }
    await auditModule(tx, deps.clock, { actor, ...key, actions: ['module.settings-changed'], data })
    return viewOf(deps, tx, next)
  })

function mergedSecrets(stored: Values, values: Values, names: readonly string[]): Values {
  const given = names.filter((name) => Object.hasOwn(values, name)).map((name) => [name, values[name]] as const)
  return Object.fromEntries(
    Object.entries({ ...stored, ...Object.fromEntries(given) }).filter(([name, value]) => names.includes(name) && value !== null),
  )
}

function validated({ settings }: ModuleManifest, values: Values): Values {
  const parsed = settingsValues(settings).safeParse(values)
  if (parsed.success) return parsed.data
  const details = parsed.error.issues.map(({ path, message }) => ({ path: ['values', ...path].join('.'), reason: message }))
  throw problem('VALIDATION', 'The settings are not valid.', { details })
}

async function storeSecrets({ keyring, random, tx }: WithTx<ModulesDeps>, key: InstallationKey, secrets: Values): Promise<void> {
  const place = placeOf(key)
  if (Object.keys(secrets).length === 0) {
    await tx.deleteFrom('module_secrets').where('id', '=', place.row).execute()
    return
  }
  const sealed = seal({ keyring, random }, place, JSON.stringify(secrets))
  await tx
    .insertInto('module_secrets')
    .values({ id: place.row, tenant_id: key.tenantId, module_id: key.moduleId, sealed })
    .onConflict((c) => c.column('id').doUpdateSet({ sealed }))
    .execute()
}
