// Approved and active modules, written past the verbs: packages in the object store, signed as a reviewer's approval is.
import { join } from 'node:path'
import { openDatabase } from '../dist/daemon/db/index.js'
import { sealSecret, storeUpstream } from '../dist/daemon/modules/services/upstreams.repo.js'
import { publishVersion } from '../dist/daemon/modules/store/approved-modules.js'
import { openObjectStore } from '../dist/daemon/objects/index.js'
import { loadKeyring } from '../dist/daemon/sealed/index.js'
import { nativeSha256Hex, systemClock, systemRandom } from '../dist/node/index.js'
import { zipOf } from '../dist/node/module-package/index.js'

const at = '2026-01-05T08:00:00.000Z'
const version = '1.0.0'

/**
 * Adds modules to a seeded registry. `code`: of index.js; `upstream` instead of it: the address of a service. `tenantIds`: where it is active. The
 * tenants have an event stream already, as every tenant that was ever used has.
 */
export async function seedModules({ databaseUrl, folder }, modules) {
  const dataDir = join(folder, 'data')
  const { db, close } = openDatabase(databaseUrl)
  const objects = await openObjectStore({ dataDir })
  const keyring = await loadKeyring({ random: systemRandom }, { dataDir, production: false })
  for (const one of modules) await addModule({ db, dataDir, objects, keyring }, one)
  await close()
}

async function addModule({ db, dataDir, objects, keyring }, { id, tenantIds, code, upstream, manifest: changed = {} }) {
  const manifest = manifestOf(id, upstream !== undefined, changed)
  const files = { 'module.json': JSON.stringify(manifest), ...(code === undefined ? {} : { 'index.js': code }) }
  const zip = await zipOf(Object.entries(files).map(([name, text]) => ({ name, bytes: Buffer.from(text) })))
  const [checksum, artifactId, developerId, submissionId] = [
    nativeSha256Hex(zip),
    ...['art', 'dev', 'sub'].map((kind) => `${kind}_${id.replaceAll('-', '')}`),
  ]
  await objects.put(
    `store/${artifactId}`,
    (async function* () {
      yield zip
    })(),
  )
  await db.transaction().execute(async (tx) => {
    const into = (table, row) => tx.insertInto(table).values(row).execute()
    const developer = { email: 'anna@example.org', name: 'Anna', organization: 'Acme', verified: 1, user_id: null }
    await into('store_developers', { id: developerId, tenant_id: tenantIds[0], ...developer, created_at: at })
    await into('store_artifacts', {
      id: artifactId,
      developer_id: developerId,
      state: 'stored',
      bytes: zip.length,
      sha256: checksum,
      created_at: at,
    })
    const newest = { feature_flag: manifest.featureFlag, version, submission_id: submissionId, approved_at: at }
    await into('store_modules', { id, developer_id: developerId, ...newest })
    await publishVersion(
      tx,
      { clock: systemClock, dataDir },
      /** @type {any} what publishing reads of it */ ({ moduleId: id, version, manifest, developerId, submissionId, artifactId, checksum }),
    )
    const host = upstream && new URL(upstream).host
    for (const tenant_id of tenantIds) {
      await into('module_installations', installation({ tenant_id, module_id: id, host, permissions: manifest.permissions }))
      await tx
        .insertInto('streams')
        .values({ stream: `tenant:${tenant_id}`, seq: 0 })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      const fresh = { attempt: 0, next_at: null, delivery_id: null, failing_since: null, error: null, skipped: 0, skipped_at: null }
      await into('module_positions', { tenant_id, module_id: id, seq: 0, ...fresh })
    }
    if (upstream === undefined) return
    const sealedSecret = sealSecret({ keyring, random: systemRandom }, id, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
    await storeUpstream(tx, systemClock, { moduleId: id, url: upstream, sealedSecret })
  })
}

const installation = ({ tenant_id, module_id, host = null, permissions }) => ({
  ...{ tenant_id, module_id, version, status: 'active', paused: 0, permissions: JSON.stringify(permissions), feature_flag: module_id },
  ...{
    settings: '{}',
    generation: 1,
    data_generation: 0,
    data_version: 0,
    data_bytes: 0,
    busy_until: null,
    former: null,
    former_until: null,
  },
  ...{ remote: host && 'confirmed', upstream_host: host, installed_at: at, activated_at: at, data_delete_at: null, updated_at: at },
})

const manifestOf = (id, isService, changed) => ({
  ...{ id, name: id, version, type: isService ? 'B' : 'A', svcCoreVersion: '>=1.0.0', description: 'A module of a benchmark' },
  ...{ author: { name: 'Anna', email: 'anna@example.org' }, license: 'MIT', category: 'other', billing: null },
  ...{ permissions: ['events:publish', 'events:subscribe'], featureFlag: id, main: 'index.js' },
  ...{ events: { subscribes: ['space.created'], publishes: [{ name: 'counted', notify: false }] } },
  ...{ routes: true, settings: null, dataVersion: 0 },
  ...(isService ? { dataProcessing: { operator: 'Acme', country: 'DE', privacyUrl: 'https://acme.example/privacy' } } : {}),
  ...changed,
})
