import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ServeCall } from '../../../src/core/modules/index.ts'
import type { Sandbox } from '../../../src/node/sandbox/index.ts'
import { answerOf, now, runCode, sandboxWith } from './module-runs.ts'

let sandbox: Sandbox
beforeAll(() => {
  sandbox = sandboxWith()
})
afterAll(() => sandbox.close())

const echo: ServeCall = async (name, argument) => ({ value: { name, argument } })

describe('a run', () => {
  test('calls the handler of the event with the event and svc', async () => {
    const code = `export const on = { 'space.created': async (event, svc) => { svc.log('heard', event.type, event.payload); await svc.data.put('a', 1) } }`
    const calls: unknown[] = []
    const serve: ServeCall = async (name, argument) => {
      calls.push([name, argument])
      return { value: null }
    }
    const result = await runCode(sandbox, code, { serve })
    expect(result).toMatchObject({
      outcome: 'done',
      value: null,
      calls: 1,
      violations: [],
      log: ['heard space.created {"spaceId":"spc_1"}'],
    })
    expect(calls).toEqual([['data.put', { key: 'a', value: 1 }]])
  })

  test('a hundred calls at once leave the thread of the host free between them', async () => {
    let [longest, before] = [0, 0]
    const timer = setInterval(() => {
      longest = Math.max(longest, served - before)
      before = served
    }, 1)
    let served = 0
    const serve: ServeCall = async () => {
      served++
      for (const until = performance.now() + 1; performance.now() < until; );
      return { value: null }
    }
    const patient = sandboxWith({ wallMs: 60_000 })
    const body = 'await Promise.all(Array.from({ length: 100 }, (_, n) => svc.data.get("k" + n)))'
    expect(await answerOf(patient, body, { serve })).toMatchObject({ outcome: 'done', calls: 100 })
    clearInterval(timer)
    await patient.close()
    expect(longest).toBeLessThan(10) // calls between two turns of the event loop
  })

  test('an event without a handler does nothing', async () => {
    expect(await runCode(sandbox, 'export const on = {}')).toMatchObject({ outcome: 'done', value: null })
    expect(await runCode(sandbox, 'export const a = 1')).toMatchObject({ outcome: 'done', value: null })
  })

  test('two runs draw different random numbers', async () => {
    const body = 'return { status: 200, body: Array.from({ length: 3 }, () => Math.random()) }'
    const runs = [await answerOf(sandbox, body), await answerOf(sandbox, body)]
    const numbers = runs.flatMap((run) => JSON.parse((run as { body: string }).body) as number[])
    expect(new Set(numbers).size).toBe(6)
  })

  test('random numbers are even, and do not come from the engine, which would show the real time', async () => {
    const body = `let [sum, least, most] = [0, 1, 0]
      for (let n = 0; n < 1e4; n++) { const x = Math.random(); sum += x; least = Math.min(least, x); most = Math.max(most, x) }
      return [sum / 1e4, least, most, Math.random.toString().includes('native')]`
    const [mean = 0, least, most, isNative] = ((await answerOf(sandbox, body)) as { value: unknown }).value as number[]
    expect(mean).toBeGreaterThan(0.47)
    expect(mean).toBeLessThan(0.53)
    expect([least, most].every((one) => one !== undefined && one >= 0 && one < 1)).toBe(true)
    expect(isNative).toBe(false)
  })

  test('answers a request, with settings and the time that it is given', async () => {
    const body = 'return { status: 200, body: { path: request.path, hour: svc.settings.hour, now: svc.now } }'
    expect(await answerOf(sandbox, body, { settings: { hour: 8 } })).toMatchObject({
      outcome: 'done',
      value: { status: 200 },
      body: JSON.stringify({ path: '/', hour: 8, now }),
    })
  })

  test.each([
    ['svc.data.get("k")', 'data.get', { key: 'k' }],
    ['svc.data.list({ prefix: "a" })', 'data.list', { prefix: 'a' }],
    ['svc.events.publish("missed", { a: 1 }, { spaceId: "s" })', 'events.publish', { name: 'missed', payload: { a: 1 }, spaceId: 's' }],
    ['svc.spaces.list()', 'spaces.list', {}],
    ['svc.files.read("f")', 'files.read', { fileId: 'f' }],
    ['svc.files.write({ spaceId: "s", name: "n", content: "c" })', 'files.write', { spaceId: 's', name: 'n', content: 'c' }],
  ])('%s is one call', async (code, name, argument) => {
    expect(await answerOf(sandbox, `return ${code}`, { serve: echo })).toMatchObject({ value: { name, argument }, calls: 1 })
  })

  test('calls may run at once', async () => {
    const body = `return (await Promise.all([1, 2, 3].map((n) => svc.data.get('k' + n)))).map(({ argument }) => argument.key)`
    expect(await answerOf(sandbox, body, { serve: echo })).toMatchObject({ value: ['k1', 'k2', 'k3'], calls: 3 })
  })

  test('a refused call throws its code; a refused permission is a violation', async () => {
    const violation = { kind: 'permission', message: 'no files:read' } as const
    const serve: ServeCall = async () => ({ error: { code: 'PERMISSION', message: 'no files:read' }, violation })
    const body = 'try { await svc.files.read("f") } catch (error) { return [error.code, error.message] }'
    expect(await answerOf(sandbox, body, { serve })).toMatchObject({
      outcome: 'done',
      value: ['PERMISSION', 'no files:read'],
      violations: [violation],
    })
  })

  test('imports files of the package, nested and dynamic', async () => {
    const files = { 'lib/a.js': `export { b } from './deep/b.js'`, 'lib/deep/b.js': `export const b = 'b'`, 'c.js': `export default 'c'` }
    const code = `import { b } from './lib/a.js'\nexport const handle = async () => b + (await import('./c.js')).default`
    const job = { type: 'request', request: { method: 'GET', path: '/' } } as const
    expect(await runCode(sandbox, code, { files, job })).toMatchObject({ outcome: 'done', value: 'bc' })
  })

  test('what a module exports is described without a call', async () => {
    const code = `export const on = { a: () => { throw 1 }, b: 1 }\nexport const handle = () => 1\nexport const migrations = [async () => 1]`
    expect(await runCode(sandbox, code, { job: { type: 'describe' } })).toMatchObject({
      value: { events: ['a'], routes: true, migrations: 1 },
    })
  })

  test('a migration is called by its index', async () => {
    const code = `export const migrations = [async () => { throw new Error('first') }, async (svc) => { await svc.data.put('v', 2) }]`
    expect(await runCode(sandbox, code, { job: { type: 'migration', index: 1 }, serve: echo })).toMatchObject({ outcome: 'done', calls: 1 })
  })

  test('a thrown error is a failure with its place, and no more', async () => {
    const result = await runCode(sandbox, `export const on = {\n'space.created': () => { null.x } }`)
    expect(result).toMatchObject({ outcome: 'failed', message: expect.stringMatching(/^TypeError: .*\(index\.js:2/) })
  })

  test.each([
    ['a syntax error', 'export const = 1', /^SyntaxError/],
    ['a missing file', `import './b.js'`, /b\.js/],
    ['a thrown text', `throw 'oh'`, /^the module threw oh/],
    ['a promise that never ends', `await new Promise(() => {})`, /never finishes/],
  ])('%s is a failure', async (_, code, message) => {
    expect(await runCode(sandbox, code)).toMatchObject({ outcome: 'failed', message: expect.stringMatching(message) })
  })

  test('a failure of the host is not a failure of the module', async () => {
    const serve: ServeCall = () => Promise.reject(new Error('database is away'))
    await expect(answerOf(sandbox, 'return svc.data.get("k")', { serve })).rejects.toThrow('database is away')
    await expect(answerOf(sandbox, 'while (true) await svc.data.get("k").catch(() => 1)', { serve })).rejects.toThrow('database is away')
  })

  test('an argument that has no JSON is the fault of the module, not of the host', async () => {
    const seen: unknown[] = []
    const serve: ServeCall = async (name, argument) => {
      seen.push([name, argument])
      return { error: { code: 'ARGUMENT', message: 'no' } }
    }
    const body =
      'return Promise.all([svc.files.write(), svc.files.write(() => 1), svc.data.list({ toJSON() {} })].map((call) => call.catch((e) => e.code)))'
    expect(await answerOf(sandbox, body, { serve })).toMatchObject({ outcome: 'done', value: ['ARGUMENT', 'ARGUMENT', 'ARGUMENT'] })
    expect(seen).toEqual([
      ['files.write', null],
      ['files.write', null],
      ['data.list', null],
    ])
  })

  test('a cancelled run ends at once', async () => {
    const cancel = new AbortController()
    const serve: ServeCall = async () => {
      cancel.abort(new Error('withdrawn'))
      return new Promise(() => undefined)
    }
    await expect(answerOf(sandbox, 'await svc.data.get("k")', { serve, signal: cancel.signal })).rejects.toThrow('withdrawn')
    expect(await answerOf(sandbox, 'return 1')).toMatchObject({ value: 1 })
  })

  test('600 runs in a row use more than one thread, and none is lost', async () => {
    const results = await Promise.all(Array.from({ length: 600 }, (_, n) => answerOf(sandbox, `return ${n}`)))
    expect(results.map((result) => (result.outcome === 'done' ? result.value : result.message))).toEqual(results.map((_, n) => n))
  })
})
