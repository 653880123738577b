import { expect, test } from 'vitest'
import { planImport } from '../../../src/core/boxes/index.ts'
import { anEvidence, someMedia } from '../../core/boxes/import-evidence.ts'
import { tenantry } from '../../support/command-line.ts'
import { aCommand } from '../../support/records.ts'

const line = ['boxes', 'import', 'anna-schule', '--plan']
const planned = (evidence = anEvidence(), drop: string[] = []) =>
  planImport({ evidence, chatDomain: 'linden.test', versions: { synapse: '1.163.2', postgres: '16.14' }, drop })
const answers = (plan: object) => ({
  'POST /api/admin/v1/boxes/anna-schule/import/plan': { commandId: 'cmd_1' },
  'GET /api/admin/v1/commands/cmd_1': aCommand({ kind: 'tenant-box.survey_import', result: { plan } }),
})

test('a plan without blockers exits 0 and shows what was found and what is carried over', async () => {
  const ran = await tenantry(line, { answers: answers(planned()) })
  expect(ran.exit).toBe(0)
  expect(ran.stdout).toMatch(/anna-schule can be imported/)
  expect(ran.stdout).toMatch(/synapse in linden-postgres-1, user synapse/)
  expect(ran.stdout).toMatch(/macaroon_secret_key +same secret +\/data\/homeserver\.yaml:2/)
  expect(ran.stdout).toMatch(/Expected downtime 31 s\. Disk space needed 739 MB, free 10\.0 GB; media are linked/)
})

test('a blocked plan exits 7 and names each blocker with its fix; --drop is sent', async () => {
  const plan = planned(anEvidence({ media: someMedia({ missing: ['local_content/ab/cd/e'] }), otherContainers: ['irc-1'] }), ['irc-1'])
  const ran = await tenantry([...line, '--drop', 'irc-1'], { answers: answers(plan) })
  expect(ran.exit).toBe(7)
  expect(ran.stdout).toMatch(/cannot be imported yet/)
  expect(ran.stdout).toMatch(/Blocked:\n +missing-media .* fix: --drop missing-media/)
  expect(ran.asked[0]).toMatchObject({ body: { drop: ['irc-1'] } })
})

test('--json prints the plan alone', async () => {
  const ran = await tenantry([...line, '--json'], { answers: answers(planned()) })
  expect(JSON.parse(ran.stdout)).toEqual(planned())
})

test('without --plan it is a usage error: nothing else is there yet', async () => {
  const ran = await tenantry(['boxes', 'import', 'anna-schule'], { answers: {} })
  expect([ran.exit, ran.asked]).toEqual([2, []])
})
