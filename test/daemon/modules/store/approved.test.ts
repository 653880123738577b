import { generateKeyPairSync } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { approvedModule } from '../../../../src/daemon/modules/index.ts'
import {
  type ApprovedModule,
  approvedModules,
  approvedVersionsOf,
  loadApprovedModule,
  loadApprovedPackage,
} from '../../../../src/daemon/modules/store/approved-modules.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aPackage, aStoreWorld } from '../../../support/store-world.ts'

onBothDialects('approved modules', (fresh) => {
  /** A room with `attendance` approved in these versions. */
  async function aListedModule(...versions: string[]) {
    const room = await aStoreWorld(await fresh())
    const anna = await room.aDeveloper('anna')
    for (const version of versions) {
      const { submissionId } = await room.upload(anna, { manifest: { version } })
      await room.as('rita').reviewSubmission({ params: { id: submissionId }, body: { action: 'approve' } })
    }
    const newest = (await approvedModule(room.db, 'attendance')) as ApprovedModule
    return { ...room, anna, newest }
  }
  const unverified = { code: 'PACKAGE_UNVERIFIED' }

  test('approval publishes the version, signed; its package loads verified', async () => {
    const room = await aListedModule('0.1.0')
    const { zip } = await aPackage({ manifest: { version: '0.1.0' } })
    expect(room.newest).toMatchObject({ moduleId: 'attendance', version: '0.1.0', developerId: room.anna.account.id, withdrawn: null })
    expect(room.newest.manifest).toMatchObject({ id: 'attendance', featureFlag: 'attendance' })
    expect((await loadApprovedPackage(room, room.newest)).equals(zip)).toBe(true)
    const { manifest, files } = await loadApprovedModule(room, room.newest)
    expect([manifest.id, Object.keys(files)]).toEqual(['attendance', ['index.js']])
    expect(await approvedModule(room.db, 'other-app')).toBeUndefined()
    expect(await approvedModule(room.db, 'attendance', '9.0.0')).toBeUndefined()
  })

  test('a changed row, a changed package or another key is refused at load', async () => {
    const room = await aListedModule('0.1.0')
    const { newest, db, dataDir, objects } = room
    const widened = { ...newest, manifest: { ...newest.manifest, permissions: ['files:write' as const] } }
    await expect(loadApprovedPackage(room, widened)).rejects.toMatchObject(unverified)
    for (const changed of [{ version: '0.2.0' }, { checksum: '0'.repeat(64) }, { developerId: 'dev_x' }, { artifactId: 'art_x' }])
      await expect(loadApprovedPackage(room, { ...newest, ...changed })).rejects.toMatchObject(unverified)
    expect(await db.selectFrom('store_versions').select('key_id').execute()).toMatchObject([{ key_id: newest.signature.keyId }])

    // Another replica verifies with the public key that its operator copied there.
    const file = join(dataDir, 'audit-checkpoint.key')
    const ownPublicKey = await readFile(`${file}.pub`, 'utf8')
    await rename(file, `${file}.kept`)
    await expect(loadApprovedPackage(room, newest)).rejects.toMatchObject(unverified)
    const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' })
    await writeFile(join(dataDir, 'audit-trusted.pub'), `${other}${ownPublicKey}`)
    expect(await loadApprovedPackage(room, newest)).toBeInstanceOf(Buffer)
    await rm(join(dataDir, 'audit-trusted.pub'))
    await rename(`${file}.kept`, file)

    await objects.remove(`store/${newest.artifactId}`)
    await expect(loadApprovedPackage(room, newest)).rejects.toMatchObject(unverified)
    async function* changedBytes() {
      yield Buffer.from('another package')
    }
    await objects.put(`store/${newest.artifactId}`, changedBytes())
    await expect(loadApprovedPackage(room, newest)).rejects.toMatchObject(unverified)
  })

  test('a withdrawn version is not listed; the newest other one is, until it is restored', async () => {
    const room = await aListedModule('0.1.0', '0.10.0', '0.11.0')
    const { db } = room
    const listed = async () => (await approvedModules(db)).map(({ version }) => version)
    const withdraw = (version: string) =>
      db.insertInto('module_withdrawals').values({ module_id: 'attendance', version, reason: 'leaks', withdrawn_at: 'now' }).execute()
    const restore = (version: string) => db.deleteFrom('module_withdrawals').where('version', '=', version).execute()
    expect((await approvedVersionsOf(db, 'attendance')).map(({ version }) => version)).toEqual(['0.1.0', '0.10.0', '0.11.0'])
    expect(await listed()).toEqual(['0.11.0'])
    await withdraw('0.11.0')
    expect(await listed()).toEqual(['0.10.0'])
    expect((await approvedModule(db, 'attendance', '0.11.0'))?.withdrawn).toEqual({ reason: 'leaks', at: 'now' })
    await withdraw('0.1.0')
    expect(await listed()).toEqual(['0.10.0'])
    await withdraw('0.10.0')
    expect(await listed()).toEqual([])
    expect(await approvedModule(db, 'attendance')).toBeUndefined()
    await restore('0.1.0')
    expect(await listed()).toEqual(['0.1.0'])
    await restore('0.11.0')
    expect(await listed()).toEqual(['0.11.0'])
  })

  test('a module of a tenant that is being deleted is not listed: who installed it then would lose it with that tenant', async () => {
    const { db, newest } = await aListedModule('0.1.0')
    const ofDeveloper = db.selectFrom('store_developers').select('tenant_id').where('id', '=', newest.developerId)
    const change = (status: 'deleting' | 'suspended') => db.updateTable('tenants').set({ status }).where('id', '=', ofDeveloper).execute()
    await change('suspended')
    expect(await approvedModules(db)).toHaveLength(1)
    await change('deleting')
    expect([await approvedModule(db, 'attendance'), await approvedModules(db)]).toEqual([undefined, []])
  })
})
