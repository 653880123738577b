import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sketch } from '../../core/boards/sketch.ts'
import { problemAnswer, temporaryFolder, tenantry } from '../../support/command-line.ts'
import { usableDatabase } from '../../support/databases.ts'
import { aTasksWorld } from '../../support/tasks-world.ts'

// Runs that a user of a tenant starts and advances on the command line.

const fields = [
  { name: 'place', label: 'Place', kind: 'text', required: true },
  { name: 'people', label: 'People', kind: 'number', required: true },
]

/** A folder with the login of a user, whose token is its id here. */
async function loggedIn(url: string, user = 'tim') {
  const configFolder = await temporaryFolder()
  const login = { token: user, name: user, tenant: 'one', expiresAt: '2027-01-01T00:00:00.000Z' }
  await mkdir(join(configFolder, 'tenantry'))
  const saved = { last: url, logins: {}, users: { [url]: login } }
  await writeFile(join(configFolder, 'tenantry', 'logins.json'), JSON.stringify(saved), { mode: 0o600 })
  return configFolder
}

async function aRoom() {
  const room = await aTasksWorld((await usableDatabase()).db)
  const variables = [{ name: 'isDrill', type: 'boolean' as const, required: true }]
  const checked = sketch('s > c1 > e', { c1: { assignedRole: 'teacher', requiredApprovals: 2, allowSelfApproval: true } })
  const { id: checkedId } = await room.as('mia').createBoard({ body: { name: 'Checked', definition: checked } })
  await room.as('mia').publishBoard({ params: { id: checkedId } })
  const definition = sketch('s > f1 > t1 > e', { f1: { assignedRole: 'teacher', fields } }, { variables })
  const { id } = await room.as('mia').createBoard({ body: { name: 'Crisis', definition } })
  await room.as('mia').publishBoard({ params: { id } })
  /** The command line with the login of a user, whose token is its id here. */
  const as = async (user: string) => {
    const configFolder = await loggedIn(room.baseUrl, user)
    return (...line: string[]) => tenantry(['runs', ...line], { url: room.baseUrl, configFolder })
  }
  return { room, boardId: id, checkedId, as, tim: await as('tim'), anna: await as('anna') }
}

test('a user starts a run and advances it to its end', async () => {
  const { boardId, tim } = await aRoom()
  const started = await tim('start', boardId, 'isDrill:=true', '--key', 'k1', '--json')
  const { id } = JSON.parse(started.stdout)
  const again = await tim('start', boardId, 'isDrill:=true', '--key', 'k1')
  expect([again.exit, again.stderr]).toEqual([0, ''])
  expect(again.stdout).toContain(`\n\nTo see what it waits for: tenantry runs open ${id}\n`)
  expect(again.stdout).toMatch(new RegExp(`^Crisis waiting\n[\\s\\S]*id +${id}\n[\\s\\S]*waits at +f1\n`))
  const open = await tim('open', id)
  expect(open.stdout).toMatch(/f1 +form +f1 +teacher +no +- +-\n\nFields of f1:\n/)
  expect(open.stdout).toMatch(/\nplace +text +yes +- +Place\npeople +number +yes +- +People\n/)
  const submitted = await tim('advance', id, 'f1', 'submit', 'place=Hall, ground floor', 'people:=12', '--seq', '1')
  expect(submitted.stdout).toMatch(/waits at +t1\n/)
  const ended = await tim('advance', id, 't1', 'complete', '--key', 'k2', '--json')
  expect(JSON.parse(ended.stdout)).toMatchObject({ id, status: 'completed', seq: 3 })
  expect(JSON.parse((await tim('advance', id, 't1', 'complete', '--key', 'k2', '--json')).stdout)).toEqual(JSON.parse(ended.stdout))
})

test('a refused space is named as the option', async () => {
  const { boardId, tim } = await aRoom()
  const refused = await tim('start', boardId, 'isDrill:=true', '--space', 'spc_00000000000000000000')
  expect(refused.stderr).toMatch(/^error: --space must be a space that you are a member of \[VALIDATION\]/)
})

test('a user finds the boards to start and what waits', async () => {
  const { boardId, checkedId, tim } = await aRoom()
  const boards = await tim('startable')
  expect(boards.stdout).toMatch(
    new RegExp(`^ID +NAME +SPACE +VALUES +DESCRIPTION\n${checkedId}|${boardId} +Crisis +pass --space +isDrill:=<boolean>`),
  )
  expect(JSON.parse((await tim('startable', '--json')).stdout).boards).toHaveLength(2)
  expect((await tim('waiting')).stdout).toBe('No checkpoint or form waits for you. To list tasks: tenantry runs tasks\n')
  const { id } = JSON.parse((await tim('start', checkedId, '--json')).stdout)
  expect((await tim('waiting')).stdout).toMatch(
    new RegExp(`${id} +c1 +checkpoint +c1 .* 0 of 2\n[\\s\\S]*\nTo list tasks: tenantry runs tasks\n$`),
  )
  expect(JSON.parse((await tim('waiting', '--json')).stdout).checkpoints).toMatchObject([{ runId: id, requiredApprovals: 2 }])
})

test('a user lists unfinished tasks: all that it may read, of a run, or its own', async () => {
  const { room, tim, as } = await aRoom()
  expect((await tim('tasks')).stdout).toBe('No tasks.\n')
  const create = (title: string, more: object = {}) => room.as('mia').createTask({ body: { title, assignedRole: 'teacher', ...more } })
  const late = await create('Lock the doors', { dueAt: '2020-01-01T00:00:00Z' })
  await room.as('tim').startTask({ params: { id: late.id } })
  const done = await create('Count')
  await room.as('tim').completeTask({ params: { id: done.id } })
  const other = await create('Report', { assigneeId: 'ben' })
  const mia = await as('mia')
  const all = (await mia('tasks')).stdout
  expect(all).toMatch(/^ID +TITLE +STATUS +ASSIGNEE +ROLE +DUE +LATE +RUN\n/)
  expect(all).toMatch(new RegExp(`\n${late.id} +Lock the doors +in_progress +tim +teacher +.* ago +yes +-\n`))
  expect(all).toMatch(new RegExp(`\n${other.id} +Report +open +ben +teacher +- +no +-\n`))
  expect(all).not.toContain(done.id)
  expect(JSON.parse((await tim('tasks', '--mine', '--json')).stdout).tasks).toMatchObject([{ id: late.id }])
  const definition = sketch('s > t1 > e', { t1: { assignedRole: 'teacher' } })
  const board = await room.as('mia').createBoard({ body: { name: 'B', definition } })
  await room.as('mia').publishBoard({ params: { id: board.id } })
  const run = await room.as('mia').startRun({ params: { id: board.id }, body: {} })
  expect(JSON.parse((await mia('tasks', '--run', run.id, '--json')).stdout).tasks).toMatchObject([{ title: 't1', runId: run.id }])
})

test('a command of operators tells a logged-in user so', async () => {
  const configFolder = await loggedIn('http://127.0.0.1:8440')
  const unknown = problemAnswer(401, { code: 'UNAUTHENTICATED', message: 'no header', retryable: false })
  const answers = { 'GET /api/admin/v1/tenants/one/runs': unknown, 'GET /api/platform/v1/runs/run_1': unknown }
  const listed = await tenantry(['runs', 'list', '--tenant', 'one'], { configFolder, answers })
  expect(listed.stderr).toContain('this is for operators; you are logged in as tim, a user of one')
  const opened = await tenantry(['runs', 'open', 'run_1'], { configFolder, answers })
  expect(opened.stderr).toContain('the login of tim is no longer valid. fix: tenantry login --tenant one')
})

test('an approval that leaves the run waiting says whether it counted', async () => {
  const { checkedId, tim } = await aRoom()
  const { id } = JSON.parse((await tim('start', checkedId, '--json')).stdout)
  expect((await tim('open', id)).stdout).toMatch(/ELEMENT .* APPROVALS\nc1 .* 0 of 2\n/)
  expect((await tim('advance', id, 'c1', 'approve')).stdout).toContain('Your approval counts; 1 more is needed.')
  expect((await tim('advance', id, 'c1', 'approve')).stdout).toContain('You have approved already; 1 more is needed.')
  expect((await tim('open', id)).stdout).toContain('1 of 2')
})

test('a refused action says why, and names no command of an operator', async () => {
  const { boardId, tim, anna } = await aRoom()
  const { id } = JSON.parse((await anna('start', boardId, 'isDrill:=false', '--json')).stdout)
  const refused = async (...line: string[]) => {
    const ran = await tim('advance', id, ...line)
    expect([ran.exit === 0, ran.stdout]).toEqual([false, ''])
    return ran.stderr
  }
  expect(await refused('f1', 'submit', 'place=Hall', 'people=12')).toBe('error: people must be a number. fix: people:=12 [VALIDATION]\n')
  expect(await refused('f1', 'submit', 'place:=3', 'people:=12')).toContain('error: place must be a text. fix: place=3 ')
  expect(await refused('f1', 'submit', 'place=Hall', 'people:=12', 'colour=red')).toContain('error: colour is not a field of this form ')
  expect(await refused('t1', 'complete')).toContain('ELEMENT_NOT_ACTIVE')
  expect(await refused('f9', 'submit')).toContain('has no element f9; the run waits for: f1.')
  expect(await refused('f1', 'submit', '--seq', '7')).toContain('RUN_CHANGED')
  const foreign = await anna('advance', id, 'f1', 'submit', 'place=Hall')
  expect(foreign.stderr).toMatch(/done by the role teacher[\s\S]*next: +ask a user with that role/)
  const missing = await tim('advance', 'run_none', 'f1', 'submit')
  expect(missing.stderr).toContain('Run run_none does not exist')
  expect(missing.stderr).toContain('fix: `tenantry runs waiting` and `tenantry runs tasks` list what waits for you')
  expect((await tim('start', 'brd_none')).stderr).toContain('fix: `tenantry runs startable` lists the boards that you may start')
  expect(missing.stderr).not.toContain('tenantry runs list')
})

test('wrong words are refused before a request, and so is a missing login', async () => {
  const ran = (...line: string[]) => tenantry(['runs', ...line])
  const start = await ran('start', 'brd_1')
  expect([start.exit, start.asked, start.stderr]).toEqual([2, [], expect.stringContaining('tenantry login --tenant <slug>')])
  const dance = await ran('advance', 'run_1', 'f1', 'dance')
  expect([dance.exit, dance.stderr]).toEqual([2, expect.stringContaining('use one of complete, approve, reject, submit, skip')])
  const variables = [{ path: 'variables.isDrill', reason: 'must be true or false' }]
  const configFolder = await loggedIn('http://127.0.0.1:8440')
  const refusal = { code: 'VALIDATION' as const, message: 'The values were not accepted', details: variables, retryable: false }
  const answers = { 'POST /api/platform/v1/cascade-boards/brd_1/runs': problemAnswer(400, refusal) }
  const text = await tenantry(['runs', 'start', 'brd_1', 'isDrill=yes'], { configFolder, answers })
  expect(text.stderr).toBe('error: isDrill must be true or false. fix: isDrill:=true [VALIDATION]\n')
  expect((await ran('advance', 'run_1', 'f1', 'submit', 'place=x', 'place=y')).stderr).toContain('place has two values')
  for (const wrong of ['place', '=Hall', 'people:=many', 'people:='])
    expect([wrong, (await ran('advance', 'run_1', 'f1', 'submit', wrong)).stderr]).toEqual([wrong, expect.stringContaining('fix: write')])
})
