import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ContainerEngine } from '../../src/agent/ports/index.ts'
import { rehearseUpgrade, upgradeProjects } from '../../src/agent/upgrade/index.ts'
import type { UpgradeRehearsal } from '../../src/core/boxes/index.ts'
import { systemRandom } from '../../src/node/index.ts'
import { readTestbed, type TestbedImage, type TestbedImageKey, testbedExists } from '../testbed/testbed.ts'
import { agentOnBox } from './support/agent-on-box.ts'
import { type Conversation, converse } from './support/conversation.ts'

// The upgrade of a real box to a real next major version, on a copy beside it.
describe.skipIf(!testbedExists())('a rehearsed upgrade of a real box', () => {
  let agent: Awaited<ReturnType<typeof agentOnBox>>
  let engine: ContainerEngine
  let deps: Parameters<typeof rehearseUpgrade>[0]
  let talk: Conversation
  let before: string
  /** Read at the start: another run may describe the test bed anew. */
  const images = testbedExists() ? readTestbed().images : undefined
  const imageOf = (key: TestbedImageKey): TestbedImage => {
    if (!images) throw new Error('there is no test bed')
    return images[key]
  }

  beforeAll(async () => {
    agent = await agentOnBox(`majors-${process.pid}`)
    deps = { ...agent.deps, random: systemRandom, stateFolder: agent.folder }
    engine = deps.engine
    talk = await converse(agent.box, 5)
    await sql(`create table filler as select n, repeat(md5(n::text), 10) as body from generate_series(1, 100000) n;
      alter table filler add primary key (n);
      create table named (id bigserial, name text collate "en-x-icu" unique, check (name <> ''));
      insert into named (name) select 'name ' || n from generate_series(1, 500) n`)
    before = await containersOfBox()
  })
  afterAll(() => agent?.remove())

  const containersOfBox = async () =>
    JSON.stringify(
      (await engine.containers((await agent.localBox()).project)).map(({ id, startedAt, restartCount }) => [id, startedAt, restartCount]),
    )
  const sql = async (text: string, user = 'synapse') => {
    const id = (await engine.containers((await agent.localBox()).project)).find(({ service }) => service === 'postgres')?.id ?? ''
    const ended = await engine.exec(id, ['psql', '-h', '127.0.0.1', '-U', user, '-d', 'synapse', '-At', '-c', text])
    expect(ended).toMatchObject({ exitCode: 0 })
    return ended.stdout.trim()
  }
  const rehearse = (commandId: string, key: TestbedImageKey = 'postgres-17') => {
    const { ref, digest } = imageOf(key)
    const payload = { ...agent.addressed, image: ref, digest, deadlineMs: 600_000 }
    return rehearseUpgrade(deps)(agent.contextOf(commandId), payload)
  }

  async function expectUntouched() {
    expect(await engine.projects(upgradeProjects(deps.stateFolder))).toEqual([])
    expect(await sql('select count(*) from pg_replication_slots')).toBe('0')
    expect(await containersOfBox()).toBe(before)
    await talk.expectComplete()
    await talk.say('still here')
  }
  const codesOf = ({ findings }: UpgradeRehearsal) => findings.map(({ severity, code }) => `${severity} ${code}`)

  test('15 to 17 by dump and load on a copy: all is there, and the box never noticed', async () => {
    const said = talk.say('while it is copied')
    const result = await rehearse('majors-1')
    await said
    process.stdout.write(`rehearsed: ${JSON.stringify(result)}\n`)
    expect(result.error).toBeNull()
    // The next Debian has another ICU.
    expect(codesOf(result)).toEqual(['warn COLLATION_VERSION'])
    expect(result).toMatchObject({ ok: true, way: 'dump-load', from: expect.stringMatching(/^15\./), to: expect.stringMatching(/^17\./) })
    expect(result.rows).toBeGreaterThan(100_500)
    expect(result.tables).toBeGreaterThan(100)
    expect(result.dumpBytes).toBeGreaterThan(0)
    expect(result.downtimeMs).toBeGreaterThan(0)
    await expectUntouched()
    expect(await rehearse('majors-1')).toEqual(result)
  })

  test('what speaks against an upgrade is found before anything is copied', async () => {
    await sql(`create extension adminpack`, 'postgres')
    expect(codesOf(await rehearse('majors-2'))).toContain('refuse EXTENSION_MISSING')
    await sql('drop extension adminpack', 'postgres')
    await sql(`select lo_create(0)`, 'postgres')
    await sql(`alter role synapse set work_mem = '8MB'`, 'postgres')
    await sql('create database other', 'postgres')
    await sql(`update pg_index set indisvalid = false where indexrelid = 'named_name_key'::regclass`, 'postgres')
    const refused = await rehearse('majors-3')
    expect(codesOf(refused)).toEqual(['refuse INVALID_INDEXES', 'refuse LARGE_OBJECTS', 'refuse ROLE_SETTINGS', 'refuse OTHER_DATABASES'])
    expect(refused).toMatchObject({ ok: false, to: null, times: {}, error: null })
    expect(refused.findings.map(({ message }) => message).join()).toMatch(/public\.named_name_key.*synapse: work_mem;.*: other;/)
    await sql(`update pg_index set indisvalid = true where indexrelid = 'named_name_key'::regclass`, 'postgres')
    await sql('drop database other', 'postgres')
    await sql('alter role synapse reset work_mem', 'postgres')
    await sql('select lo_unlink(oid) from pg_largeobject_metadata', 'postgres')
    expect(codesOf(await rehearse('majors-4', 'postgres'))).toEqual(['refuse NOT_NEWER'])
    await expectUntouched()
  })
})
