import { expect, test } from 'vitest'
import { makeClient } from '../../../src/core/contract/index.ts'
import { hostsContract } from '../../../src/core/hosts/index.ts'
import { isProblem, type ProblemCode } from '../../../src/core/kit/index.ts'
import { type Command, registrySecrets, secretsByKind } from '../../../src/daemon/hosts/index.ts'
import { hostsSealedColumns } from '../../../src/daemon/hosts/registries.ts'
import { keyring, opensAll, reseal } from '../../../src/daemon/sealed/index.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { hostWorld } from '../../support/host-world.ts'

const refused = (code: ProblemCode) => expect.toSatisfy((error: unknown) => isProblem(error, code), code)
const password = 'a very long password'

onBothDialects('registries', (fresh) => {
  const setUp = async () => {
    const world = await hostWorld(await fresh())
    const { deps, baseUrl } = world
    const admin = makeClient(hostsContract, { baseUrl, headers: () => ({ authorization: 'Bearer anna' }) })
    const { hostId } = await world.enrol('host-1')
    const given = (kind: Command['kind'], of = hostId) =>
      secretsByKind({ registries: registrySecrets(deps), snapshots: () => Promise.reject(new Error('asked for')) })(deps.db, {
        hostId: of,
        kind,
      } as Command)
    return { ...world, admin, hostId, given }
  }

  test('a host gets its own registry settings before those of all hosts', async () => {
    const { admin, given, enrol } = await setUp()
    await admin.setRegistry({ body: { registry: 'docker.io', host: null, mirror: 'mirror.example:5000/hub' } })
    await admin.setRegistry({ body: { registry: 'docker.io', host: 'host-1', mirror: 'near.example' } })
    await admin.setRegistry({ body: { registry: 'registry.example', host: null, username: 'puller', password } })
    const mine = { 'docker.io': { mirror: 'near.example' }, 'registry.example': { username: 'puller', password } }
    expect(await given('tenant-box.provision')).toEqual({ registries: mine })
    const { hostId: other } = await enrol('host-2')
    expect((await given('tenant-box.provision', other)).registries?.['docker.io']).toEqual({ mirror: 'mirror.example:5000/hub' })
  })

  test('a command kind gets only the secrets it names: no other feature is queried', async () => {
    const { admin, given } = await setUp()
    await admin.setRegistry({ body: { registry: 'docker.io', host: null, mirror: 'mirror.example' } })
    expect(await given('tenant-box.report_versions')).toEqual({})
    await expect(given('tenant-box.update')).rejects.toThrow('asked for')
    await expect(given('tenant-box.snapshot')).rejects.toThrow('asked for')
  })

  test('a password is sealed, never shown, never logged, and stays while its user name does', async () => {
    const { admin, given, deps } = await setUp()
    const set = (body: object) => admin.setRegistry({ body: { registry: 'registry.example', host: 'host-1', ...body } })
    expect(await set({ username: 'puller', password })).toMatchObject({ hasPassword: true, updatedBy: 'admin:anna' })
    expect(await set({ username: 'puller', mirror: 'mirror.example' })).toMatchObject({ hasPassword: true })
    const account = { username: 'puller', password, mirror: 'mirror.example' }
    expect(await given('tenant-box.provision')).toEqual({ registries: { 'registry.example': account } })
    await expect(set({ username: 'another' })).rejects.toEqual(refused('VALIDATION'))
    const kept = [
      await deps.db.selectFrom('registries').selectAll().execute(),
      await deps.db.selectFrom('audit').selectAll().execute(),
      (await admin.listRegistries()).registries,
    ]
    expect(JSON.stringify(kept)).not.toContain(password)
    expect(await set({ mirror: 'mirror.example' })).toMatchObject({ username: null, hasPassword: false })
  })

  test('a new secret key reseals it', async () => {
    const { admin, deps, given } = await setUp()
    await admin.setRegistry({ body: { registry: 'registry.example', host: null, username: 'puller', password } })
    const [newer, older] = [Buffer.alloc(32, 9).toString('base64'), Buffer.alloc(32, 7).toString('base64')]
    const [column] = hostsSealedColumns as [(typeof hostsSealedColumns)[number]]
    expect(await reseal({ db: deps.db, random: systemRandom, keyring: keyring([newer, older]) }, column)).toBe(1)
    await opensAll({ db: deps.db, keyring: keyring([newer]) }, column)
    await expect(given('tenant-box.provision')).rejects.toEqual(refused('SEALED_UNREADABLE'))
  })

  test('a removed registry is gone, and an unknown one is 404', async () => {
    const { admin, given } = await setUp()
    await admin.setRegistry({ body: { registry: 'docker.io', host: null, mirror: 'mirror.example' } })
    await expect(admin.removeRegistry({ body: { registry: 'docker.io', host: 'host-1' } })).rejects.toEqual(refused('NOT_FOUND'))
    await expect(admin.removeRegistry({ body: { registry: 'docker.io', host: 'host-9' } })).rejects.toEqual(refused('NOT_FOUND'))
    await admin.removeRegistry({ body: { registry: 'docker.io', host: null } })
    expect(await given('tenant-box.provision')).toEqual({})
    expect((await admin.listRegistries()).registries).toEqual([])
  })

  test.each([
    { registry: 'docker.io' },
    { registry: 'docker.io', mirror: 'docker.io' },
    { registry: 'docker.io', mirror: 'https://mirror.example' },
    { registry: 'docker.io', mirror: 'mirror' },
    { registry: 'tenantry', mirror: 'mirror.example' },
    { registry: 'docker.io/library', mirror: 'mirror.example' },
    { registry: 'docker.io', mirror: 'mirror.example', password },
    { registry: 'docker.io', username: 'puller\n', password },
  ])('%j is refused', async (body) => {
    const { admin } = await setUp()
    await expect(admin.setRegistry({ body: { host: null, ...body } })).rejects.toEqual(refused('VALIDATION'))
  })
})
