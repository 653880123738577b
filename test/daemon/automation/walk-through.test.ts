import { readFileSync } from 'node:fs'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { anAutomationWorld } from '../../support/automation-world.ts'
import { emptyDatabase } from '../../support/databases.ts'

// The lines of docs/automation.md as they are shown, by bash and curl over real HTTP. `…` stands for ids that the answers before have.

type Shown = Readonly<{ line: string; answer: string }>

/** The commands of a console and the answer below each; a command may have several lines. */
function shownIn(page: string): Shown[] {
  const consoles = [...page.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, text]) => text as string)
  return consoles.flatMap((text) =>
    text
      .split(/^\$ /m)
      .slice(1)
      .map((one) => {
        const at = one.search(/^\{/m)
        return at < 0 ? { line: one.trim(), answer: '' } : { line: one.slice(0, at).trim(), answer: one.slice(at).trim() }
      }),
  )
}

/** Names of fields that an example shows. */
const fieldsIn = (answer: string) => [...answer.matchAll(/"(\w+)":/g)].map(([, name]) => name as string)

test('every line of the walk-through works as shown, and its answer has the fields that are shown', async () => {
  const { db } = await emptyDatabase('sqlite')
  const one = await anAutomationWorld(db)
  const anna = await one.aUserWith('anna', 'principal')
  await one.aUserWith('cuno', 'custodian')
  const key = await one.aKey()
  const last: Record<string, string> = {}
  const lines = shownIn(readFileSync('docs/automation.md', 'utf8')).filter(({ line }) => !line.startsWith('tenantry '))
  const set = lines.filter(({ line }) => /^[A-Z]+=|^post\(\)/.test(line)).map(({ line }) => line)
  const calls = lines.filter(({ line }) => /^(curl|post) /.test(line))
  expect(set).toHaveLength(4)
  expect(calls.length).toBeGreaterThanOrEqual(14)
  const filled = (line: string) =>
    line
      .replace('https://platform.example', one.url)
      .replace('tak_…', key)
      .replace('ten_…', one.tenantId)
      .replace('slug=linden', 'slug=acme')
      .replace('usr_…', anna.userId)
      .replace(/tsk_…/g, () => last.tsk as string)
      .replace(/spc_…/g, () => last.spc as string)
      .replace('"!…"', () => JSON.stringify(last.room))
  const space = await one.call(key, 'POST /spaces/create', {
    ...{ tenantId: one.tenantId, name: 'First', type: 'CRISIS', visibility: 'PRIVATE' },
  })
  last.spc = space.json.id
  for (const { line, answer } of calls) {
    const script = [...set, `${line}`].map(filled).join('\n').replaceAll('curl ', 'curl -sS --fail-with-body ')
    const { stdout, exitCode } = await execa('bash', ['-c', script], { reject: false })
    expect(exitCode, `${line}\n${stdout}`).toBe(0)
    const told = JSON.parse(stdout)
    const names = new Set(fieldsIn(stdout))
    expect(
      fieldsIn(answer).filter((name) => !names.has(name)),
      line,
    ).toEqual([])
    last.tsk = told.tasks?.[0]?.id ?? last.tsk
    last.room = told.roomId ?? last.room
    last.spc = /spaces\/create/.test(line) ? told.id : last.spc
    await one.work()
  }
})
