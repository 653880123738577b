import { expect, test } from 'vitest'
import { planImport } from '../../../src/core/boxes/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'
import { anEvidence } from '../../core/boxes/import-evidence.ts'
import { onBothDialects } from '../../support/databases.ts'
import { lifeWorld } from '../../support/life-world.ts'

const code = (call: Promise<unknown>) => call.then(() => 'no problem').catch((error) => (isProblem(error) ? error.code : String(error)))
const north = { params: { slug: 'north' } }

onBothDialects('planning an import', (fresh) => {
  test('asks the agent with the versions of the manifest, beside a hold, and the plan is the result of the command', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await world.db.updateTable('boxes').set({ managed: 0, folder: '/srv/north', project: 'north' }).execute()
    await world.db.insertInto('box_holds').values({ box_id: id, holder: 'maintenance', until: '2030-01-01T00:00:00.000Z' }).execute()
    const { commandId } = await (await world.api()).planImport({ ...north, body: { drop: ['mail'] } })
    const asked = await world.take('host-1')
    const versions = { synapse: expect.stringMatching(/^1\./), postgres: expect.stringMatching(/^\d/) }
    expect(asked).toMatchObject({
      id: commandId,
      kind: 'tenant-box.survey_import',
      payload: { boxId: id, drop: ['mail'], versions, images: { synapse: expect.any(String) } },
    })
    const plan = planImport({
      evidence: anEvidence(),
      chatDomain: 'linden.test',
      versions: { synapse: '1.163.2', postgres: '16' },
      drop: [],
    })
    await world.post('host-1', asked, { ok: true, result: { plan } })
    expect(await world.audit()).toContain('box.import.asked')
    const { result } = await world.db.selectFrom('commands').select('result').where('id', '=', commandId).executeTakeFirstOrThrow()
    expect(JSON.parse(result ?? '')).toEqual({ plan })
  })

  test('is refused for a box of the template, and without its host', async () => {
    const world = await lifeWorld(await fresh())
    const plan = async () => (await world.api()).planImport({ ...north, body: { drop: [] } })
    expect(await code(plan())).toBe('NOT_FOUND')
    await world.aBox('north')
    expect(await code(plan())).toBe('CONFLICT')
    await world.db.updateTable('boxes').set({ managed: 0, folder: '/srv/north', project: 'north' }).execute()
    await world.silence('host-1')
    expect(await code(plan())).toBe('HOST_OFFLINE')
  })
})
