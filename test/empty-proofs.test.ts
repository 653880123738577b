import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readVerifiedDump } from '../src/agent/backup/index.ts'
import { assertSameCounts } from '../src/agent/box-servers/sql.ts'
import type { BoxServers } from '../src/agent/ports/index.ts'
import { resticSnapshots } from '../src/agent/snapshots/index.ts'
import { drill } from '../src/cli/snapshots/drill.ts'
import { proveExport, writeExportLine } from '../src/core/audit/index.ts'
import { type DrillResult, planImport, provenDrill } from '../src/core/boxes/index.ts'
import { verifyAudit } from '../src/daemon/audit/read-audit.ts'
import { migrate, openDatabase } from '../src/daemon/db/index.ts'
import { openBackup } from '../src/daemon/program/backup/backup-folder.ts'
import { scanPackage } from '../src/node/module-package/index.ts'
import { aBackedUpBox, aContext, aSnapshotPayload } from './agent/backup/a-backup.ts'
import { aDatabase, anEvidence } from './core/boxes/import-evidence.ts'
import { aDrill } from './support/snapshots-world.ts'

// No verification passes on nothing. docs/proof.md has the table of all of them; here each is given an empty input.

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-empty-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const write = (name: string, content: string) => writeFile(join(folder, name), content)
const going = new AbortController().signal
const emptyDatabase = (rows: Record<string, number>) => ({ dumpDatabase: async () => rows })
const header = {
  kind: 'export',
  version: 1,
  chain: 'admin',
  exportedAt: '2026-01-05T02:00:00.000Z',
  entries: 0,
  publicKey: 'pem',
  evidence: true,
}

async function snapshotOf(rows: Record<string, number>) {
  const { agent, host, take } = await aBackedUpBox()
  const servers = { ...host.servers, ...emptyDatabase(rows) } as BoxServers
  return take(aSnapshotPayload(), aContext(), await agent({ ...host, servers }))
}

const emptyImport = () => {
  const database = aDatabase({ missingTables: ['events'], schemaVersion: null })
  const versions = { synapse: '1.163.2', postgres: '16.14' }
  return planImport({ evidence: anEvidence({ database }), chatDomain: 'linden.test', versions, drop: [] })
}

const manifest = {
  format: 1,
  commandId: 'c',
  slug: 'oak',
  boxId: 'b',
  at: '',
  tier: 'daily',
  images: {},
  migrationsHead: '0000',
  rows: {},
  files: {},
}

/** A restic that takes a snapshot of no file. */
async function snapshotOfNoFile() {
  const program = join(folder, 'restic')
  const summary = '{"message_type":"summary","snapshot_id":"s1","total_files_processed":0}'
  await writeFile(program, `#!/bin/sh\necho '${summary}'\n`, { mode: 0o755 })
  const store = resticSnapshots({ program, owner: folder, cacheFolder: folder })
  return store.take({ repository: folder, password: '', env: {} }, { tier: 'daily', commandId: 'c', slug: 'oak', paths: [folder] })
}

async function auditOfNothing() {
  const { db, close } = openDatabase(`sqlite:${join(folder, 'empty.db')}`)
  await migrate(db)
  const reports = await verifyAudit({ db }, {}).finally(close)
  return { ok: reports.length > 0 && reports.every(({ ok }) => ok) }
}

async function backupOfNothing() {
  const facts = { format: 1, at: '2026-01-05T02:00:00.000Z', version: '1', dialect: 'sqlite', lastMigration: '0001', objects: 'included' }
  await write('backup.json', JSON.stringify(facts))
  await write('SHA256SUMS', '')
  return openBackup(folder, going)
}

const shownDrill = (result: DrillResult) => {
  const paint = { green: (text: string) => text, red: (text: string) => text }
  const text = drill.view?.({ result } as never, { paint } as never, { slug: 'oak' } as never) as string
  return { ok: /Verified|match/.test(text) }
}

const emptyZip = Buffer.concat([Buffer.from('PK\x05\x06', 'latin1'), Buffer.alloc(18)])

const refused = (code: string) => ({ code })
const proofs: Readonly<Record<string, readonly [verify: () => unknown, says: object | undefined]>> = {
  'a snapshot of a database without tables': [() => snapshotOf({}), refused('SNAPSHOT_FAILED')],
  'a snapshot of a database without rows': [() => snapshotOf({ events: 0 }), refused('SNAPSHOT_FAILED')],
  'a snapshot without files': [snapshotOfNoFile, refused('SNAPSHOT_FAILED')],
  'a dump whose manifest names no file': [
    () => write('manifest.json', JSON.stringify(manifest)).then(() => readVerifiedDump(folder)),
    undefined,
  ],
  'a restore, move or drill of a dump without tables': [() => assertSameCounts('oak', {}, {}), refused('RESTORE_FAILED')],
  'a restore, move or drill of a dump without rows': [
    () => assertSameCounts('oak', { events: 0 }, { events: 0 }),
    refused('RESTORE_FAILED'),
  ],
  'a drill of an older agent without tables': [() => provenDrill(aDrill({ tables: 0, rows: 0 })), { ok: false }],
  'the command line about that drill': [() => shownDrill(aDrill({ tables: 0, rows: 0 })), { ok: false }],
  'a drill of media of which the agent compared none': [
    () => provenDrill(aDrill({ media: { files: 5, sampled: 0, hashed: 0 } })),
    { ok: false },
  ],
  'a plan of an import of a database without tables': [() => emptyImport(), { ready: false }],
  'an audit log without chains': [auditOfNothing, { ok: false }],
  'an exported audit log without lines': [() => proveExport([], { checkpoints: [], verifySignature: () => 'good' }), { ok: false }],
  'an exported audit log without entries': [
    () => proveExport([writeExportLine(header as never)], { checkpoints: [], verifySignature: () => 'good' }),
    { ok: false },
  ],
  'a backup of the daemon without a database': [backupOfNothing, refused('BACKUP_INVALID')],
  'a package without files': [() => scanPackage(emptyZip), { ok: false }],
}

test.each(Object.entries(proofs))('%s is no proof', async (_, [verify, says]) => {
  const found = await Promise.resolve()
    .then(verify)
    .catch((error) => error)
  if (says === undefined) expect(found).toBeUndefined()
  else expect(found).toMatchObject(says)
})
