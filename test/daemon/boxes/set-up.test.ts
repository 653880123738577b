import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { applyManifest, boxById } from '../../../src/daemon/boxes/index.ts'
import { commandById } from '../../../src/daemon/hosts/index.ts'
import { aManifest, aProbe, aReport } from '../../support/boxes.ts'
import { aBoxesWorld, aHost, aLiveBox, anApi, anOperator, answerCommand, type BoxesWorld, failCommand } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const wanted = { slug: 'north', name: 'North School', plan: 'light', chatDomain: 'chat.north.example', host: 'host-1' } as const
const code = async (call: Promise<unknown>) =>
  call.then(
    () => 'no problem',
    (error) => (isProblem(error) ? error.code : String(error)),
  )
const audit = ({ db }: BoxesWorld) => db.selectFrom('audit').select(['action', 'subject']).orderBy('seq').execute()

onBothDialects('set-up of a box', (fresh) => {
  test('a provisioned box gets ports, images of the manifest and a command, and is live once it reports', async () => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    const { box, commandId } = await api.provisionBox({ body: { ...wanted, canary: true } })
    expect(box).toMatchObject({ slug: 'north', status: 'provisioning', live: false, severity: 'unknown', freshness: 'never', canary: true })
    expect(box.ports).toEqual({ public: 18_000, platform: 18_001, probe: 18_002 })
    expect(box.publicUrl).toBe('https://chat.north.example')
    expect(await commandById(room.db, commandId)).toMatchObject({
      kind: 'tenant-box.provision',
      hostId: 'hst_host-1',
      payload: { images: { synapse: 'registry.example/synapse:v1.157.1', edge: 'registry.example/edge:1.22' }, ports: box.ports },
    })
    await answerCommand(room, commandId, { report: aReport('north'), probe: aProbe() })
    expect(await api.showBox({ params: { slug: 'north' } })).toMatchObject({
      status: 'ready',
      live: true,
      managed: true,
      severity: 'none',
      installed: { synapse: '1.157.1' },
      probe: { verdict: 'ok' },
    })
    expect(await audit(room)).toContainEqual({ action: 'box.provision', subject: 'north' })
  })

  test('versions of the input override the manifest’s', async () => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    const { commandId } = await api.provisionBox({ body: { ...wanted, versions: { synapse: '1.97.0' } } })
    const { payload } = await commandById(room.db, commandId)
    expect(payload).toMatchObject({
      migrationsHead: '0000',
      images: { synapse: 'registry.example/synapse:v1.97.0', postgres: 'registry.example/postgres:17.6' },
    })
  })

  test('the digests of the manifest are those that the host pulls', async () => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    const digests = Object.fromEntries(
      ['edge:1.22', 'synapse:v1.157.1', 'synapse:v1.97.0'].map((name, of) => [`registry.example/${name}`, `sha256:${`${of}`.repeat(64)}`]),
    )
    await applyManifest(room, anOperator, { ...aManifest(), digests })
    const { commandId } = await api.provisionBox({ body: wanted })
    const { payload } = await commandById(room.db, commandId)
    const { 'registry.example/synapse:v1.97.0': _, ...ofBox } = digests
    expect((payload as { digests: object }).digests).toEqual(ofBox)
  })

  test('a duplicate slug is refused with the name of its tenant', async () => {
    const room = await aBoxesWorld(await fresh())
    await aLiveBox(room, 'north')
    const api = await anApi(room)
    const again = api.provisionBox({ body: wanted })
    expect(await code(again)).toBe('ALREADY_EXISTS')
    await expect(again).rejects.toThrow(/north of School north/)
    expect(await code(api.provisionBox({ body: { ...wanted, slug: 'other', chatDomain: 'north.example' } }))).toBe('ALREADY_EXISTS')
  })

  test('repeating the call for a ready box returns the box and changes nothing', async () => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    const body = { ...wanted, versions: { synapse: '1.157.1' } }
    const { box, commandId } = await api.provisionBox({ body })
    await answerCommand(room, commandId, { report: aReport('north'), probe: aProbe() })
    const before = await audit(room)
    const again = await api.provisionBox({ body })
    expect([again.commandId, again.box]).toEqual([commandId, expect.objectContaining({ boxId: box.boxId, status: 'ready' })])
    expect(await audit(room)).toEqual(before)
    await aHost(room, 'host-2')
    for (const other of [{ plan: 'pro' }, { host: 'host-2' }, { name: 'South School' }, { versions: { synapse: '1.163.2' } }] as const)
      expect([other, await code(api.provisionBox({ body: { ...body, ...other } }))]).toEqual([other, 'ALREADY_EXISTS'])
    expect(await code(api.adoptBox({ body: { ...wanted, folder: '/srv/north', project: 'north' } }))).toBe('ALREADY_EXISTS')
  })

  test('a corrected call replaces a failed adoption and frees slug and domain', async () => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    const adopt = (folder: string) => api.adoptBox({ body: { ...wanted, folder, project: 'north' } })
    const mistyped = await adopt('/srv/nroth')
    expect(await code(adopt('/srv/north'))).toBe('CONFLICT') // the first is still under way
    await failCommand(room, mistyped.commandId)
    const mended = await adopt('/srv/north')
    expect(mended.box).toMatchObject({ slug: 'north', folder: '/srv/north', live: false })
    expect(mended.box.boxId).not.toBe(mistyped.box.boxId)
    await failCommand(room, mended.commandId)
    expect((await api.provisionBox({ body: wanted })).box.ports).not.toBeNull()
  })

  test.each(['north; rm -rf /', '$(id)', '../north', 'north`id`', 'North', 'a', 'north-'])('the box name %j is refused', async (slug) => {
    const api = await anApi(await aBoxesWorld(await fresh()))
    expect(await code(api.provisionBox({ body: { ...wanted, slug } }))).toBe('VALIDATION')
    expect(await code(api.adoptBox({ body: { ...wanted, slug, folder: '/srv/north', project: 'north' } }))).toBe('VALIDATION')
  })

  test('repeating the call during provisioning returns the same command', async () => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    const first = await api.provisionBox({ body: wanted })
    expect((await api.provisionBox({ body: wanted })).commandId).toBe(first.commandId)
  })

  test.each(['failed', 'expired'] as const)('after provisioning %s the same call retries with the same ports', async (status) => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    const first = await api.provisionBox({ body: wanted })
    await failCommand(room, first.commandId, status)
    expect(await api.showBox({ params: { slug: 'north' } })).toMatchObject({
      status: 'failed',
      setUp: { attempt: 1, error: { code: 'PULL_FAILED' } },
    })
    const second = await api.provisionBox({ body: wanted })
    expect(second.commandId).not.toBe(first.commandId)
    expect(second.box).toMatchObject({
      boxId: first.box.boxId,
      ports: first.box.ports,
      status: 'provisioning',
      setUp: { attempt: 2, error: null },
    })
    await answerCommand(room, first.commandId, { report: aReport('north'), probe: aProbe() })
    expect((await boxById(room.db, first.box.boxId as never))?.live).toBe(false)
    await answerCommand(room, second.commandId, { report: aReport('north'), probe: aProbe() })
    expect((await boxById(room.db, first.box.boxId as never))?.live).toBe(true)
  })

  test('a begun box cannot be continued as another one', async () => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    await aHost(room, 'host-2')
    await api.provisionBox({ body: wanted })
    for (const change of [{ host: 'host-2' }, { plan: 'pro' as const }, { chatDomain: 'other.example' }, { name: 'South School' }])
      expect(await code(api.provisionBox({ body: { ...wanted, ...change } }))).toBe('CONFLICT')
    expect(await code(api.adoptBox({ body: { ...wanted, folder: '/srv/north', project: 'north' } }))).toBe('CONFLICT')
  })

  test('boxes created at the same time get different ports', async () => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    const slugs = ['aaa', 'bbb', 'ccc', 'ddd']
    const made = await Promise.allSettled(
      slugs.map((slug) => api.provisionBox({ body: { ...wanted, slug, chatDomain: `${slug}.example` } })),
    )
    const boxes = made.flatMap((one) => (one.status === 'fulfilled' ? [one.value.box] : []))
    expect(new Set(boxes.map((box) => box.ports?.public)).size).toBe(boxes.length)
    for (const one of made) if (one.status === 'rejected') expect(isProblem(one.reason, 'CONFLICT')).toBe(true)
  })

  test('a host must exist and be neither revoked nor frozen', async () => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    await aHost(room, 'gone', { status: 'revoked' })
    expect(await code(api.provisionBox({ body: { ...wanted, host: 'nowhere' } }))).toBe('NOT_FOUND')
    expect(await code(api.provisionBox({ body: { ...wanted, host: 'gone' } }))).toBe('HOST_REVOKED')
    expect((await api.listTenants()).tenants).toEqual([])
  })

  test('an adopted stack is observed, and named with its import', async () => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    const { commandId } = await api.adoptBox({ body: { ...wanted, folder: '/srv/north', project: 'north' } })
    await answerCommand(room, commandId, { report: aReport('north', { managed: false }) })
    expect(await api.showBox({ params: { slug: 'north' } })).toMatchObject({
      live: true,
      managed: false,
      ports: null,
      folder: '/srv/north',
      findings: ['north is only observed. fix: tenantry boxes import north --plan'],
    })
    expect((await api.listTenants()).tenants).toMatchObject([{ slug: 'north', plan: 'light', tier: 'free', status: 'active' }])
  })

  test('a folder with .. or shell characters is refused', async () => {
    const api = await anApi(await aBoxesWorld(await fresh()))
    for (const folder of ['/srv/../etc', 'srv/north', '/srv/$(id)', '/srv/a b'])
      expect(await code(api.adoptBox({ body: { ...wanted, folder, project: 'north' } }))).toBe('VALIDATION')
  })
})
