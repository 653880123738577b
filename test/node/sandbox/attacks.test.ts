import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ServeCall } from '../../../src/core/modules/index.ts'
import type { Sandbox } from '../../../src/node/sandbox/index.ts'
import { answerOf, runCode, sandboxWith } from './module-runs.ts'

let sandbox: Sandbox
beforeAll(() => {
  sandbox = sandboxWith()
})
afterAll(() => sandbox.close())

const echo: ServeCall = async (_, argument) => ({ value: argument })

/** The sandbox must answer the next run as if nothing had happened. */
const staysUsable = async () => expect(await answerOf(sandbox, 'return 1 + 1')).toMatchObject({ outcome: 'done', value: 2, violations: [] })

describe('nothing of the host is inside', () => {
  test('no global of Node.js or of browsers exists', async () => {
    const names = [
      ...['process', 'require', 'module', 'Buffer', 'global', 'console', 'setTimeout', 'setInterval', 'fetch', 'WebAssembly', 'Date'],
      ...['URL', 'crypto', 'performance', 'structuredClone', 'queueMicrotask', 'Worker', 'os', 'std', 'scriptArgs', 'print', 'Deno', 'Bun'],
    ]
    const body = `return ${JSON.stringify(names)}.filter((name) => name in globalThis)`
    expect(await answerOf(sandbox, body)).toMatchObject({ outcome: 'done', value: [] })
  })

  test.each([
    ['a function made from text', `return typeof (async () => {}).constructor('return typeof process')`],
    ['the constructor of svc', `return svc.constructor.constructor('return typeof process + typeof require')()`],
    ['the constructor of an answer', `return (await svc.data.get('k')).constructor.constructor('return typeof process')()`],
    [
      'the constructor of an error of the host',
      `try { await svc.nothing() } catch (e) { return e.constructor.constructor('return typeof process')() }`,
    ],
    ['indirect eval', `return (0, eval)('typeof process')`],
    ['this of a sloppy function', `return new Function('return typeof this.process')()`],
    ['the caller', `try { return typeof arguments.callee.caller } catch { return 'undefined' }`],
  ])('%s reaches no process', async (_, body) => {
    const result = await answerOf(sandbox, body, { serve: echo })
    expect(result).toMatchObject({ outcome: 'done', value: expect.stringMatching(/^(undefined)+$|^function$/) })
  })

  test.each([
    'node:fs',
    'fs',
    '../../etc/passwd',
    '/etc/passwd',
    './../x.js',
    'tenantry:run',
    './constructor',
    './__proto__',
    'data:text/javascript,1',
  ])('import of %s finds nothing', async (name) => {
    const result = await answerOf(sandbox, `try { await import(${JSON.stringify(name)}); return 'there' } catch { return 'not there' }`)
    expect(result).toMatchObject({ value: 'not there' })
  })

  test('a changed prototype does not outlive its run, nor reach another tenant', async () => {
    const poison = `Object.prototype.polluted = 'yes'; Array.prototype.map = () => ['x']; JSON.parse = () => 1; globalThis.kept = 'secret'; return 1`
    await answerOf(sandbox, poison)
    const body = `return [{}.polluted ?? 'clean', [1].map((n) => n + 1), JSON.parse('[2]'), typeof kept]`
    expect(await answerOf(sandbox, body)).toMatchObject({ value: ['clean', [2], [2], 'undefined'] })
  })

  test('a module that changes what svc is made of reaches nothing but itself', async () => {
    const body = `
      const seen = []
      Promise.prototype.then = new Proxy(Promise.prototype.then, { apply: (f, self, args) => (seen.push(typeof self), Reflect.apply(f, self, args)) })
      String.prototype.toString = () => { throw 1 }
      Object.defineProperty(Object.prototype, 'error', { get() { return undefined }, set() {}, configurable: true })
      const value = await svc.data.get('k')
      return [value.key, seen.every((type) => type === 'object')]`
    expect(await answerOf(sandbox, body, { serve: echo })).toMatchObject({ outcome: 'done', value: ['k', true] })
  })

  test('svc is frozen, to its leaves', async () => {
    const body = `const tried = []
      for (const part of [svc, svc.data, svc.files, svc.settings, svc.settings.list, request]) try { part.x = 1; tried.push('changed') } catch { tried.push('frozen') }
      return tried`
    const settings = { list: ['a'] }
    expect(await answerOf(sandbox, body, { settings })).toMatchObject({ value: Array.from({ length: 6 }, () => 'frozen') })
  })

  test('an answer that looks like the frame of the sandbox stays an answer', async () => {
    const body = `return { error: 'InternalError: out of memory', value: 1, toJSON: undefined }`
    expect(await answerOf(sandbox, body)).toMatchObject({ outcome: 'done', value: { error: 'InternalError: out of memory', value: 1 } })
  })

  test('__proto__ in an answer or argument changes no object of the host', async () => {
    const result = await answerOf(
      sandbox,
      `await svc.data.put('k', JSON.parse('{"__proto__":{"polluted":1}}')); return JSON.parse('{"__proto__":{"polluted":1}}')`,
      { serve: echo },
    )
    expect(result.outcome).toBe('done')
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  test('no real time: neither a clock nor one made of waiting', async () => {
    const body = `return [typeof Date, typeof performance, svc.now === svc.now, Object.getOwnPropertyNames(globalThis).filter((name) => /time|date|now/i.test(name))]`
    expect(await answerOf(sandbox, body)).toMatchObject({ value: ['undefined', 'undefined', true, []] })
  })
})

describe('a run that takes too much is ended as a typed violation', () => {
  const kindOf = async (run: ReturnType<typeof runCode>) => {
    const result = await run
    return [result.outcome, result.violations.at(-1)?.kind]
  }

  test.each([
    ['an endless loop', 'for (;;);'],
    ['an endless loop that catches everything', 'for (;;) try { for (;;); } catch {} finally { continue }'],
    ['a loop of awaits', 'for (;;) await null'],
    ['a generator', 'function* g() { for (;;) yield 1 } for (const x of g()) x'],
    ['a slow regular expression', `return /^(a+)+$/.test('a'.repeat(40) + 'b')`],
    ['a proxy that never ends', 'const p = new Proxy({}, { get: (t, k, r) => { for (;;); } }); return p.x'],
    ['an answer whose text never ends', 'return { toJSON() { for (;;); } }'],
    ['an error whose text never ends', 'throw Object.assign(new Error(), { get message() { for (;;); }, toString() { for (;;); } })'],
    ['a thenable that resolves itself', 'const t = { then(f) { f(t) } }; await t'],
  ])('%s', async (_, body) => {
    expect(await kindOf(answerOf(sandbox, body))).toEqual(['limit', 'interpreter_time'])
    await staysUsable()
  })

  test('a loop while the module is loaded', async () => {
    expect(await kindOf(runCode(sandbox, 'for (;;);'))).toEqual(['limit', 'interpreter_time'])
    await staysUsable()
  })

  test.each([
    ['an array', 'const a = []; for (;;) a.push(new Array(1000).fill(1))'],
    ['texts', `const a = []; for (let n = 0; ; n++) a.push('x'.repeat(1e5) + n)`],
    ['typed arrays', 'const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))'],
    ['one huge buffer', 'return new ArrayBuffer(1e9).byteLength'],
    ['a flood of promises', 'const a = []; for (;;) a.push(new Promise(() => {}))'],
    ['a chain of promises', 'const next = () => Promise.resolve().then(next); await next()'],
    ['maps', 'const m = new Map(); for (let n = 0; ; n++) m.set(n, { n })'],
  ])('memory: %s', async (_, body) => {
    const [outcome, kind] = await kindOf(answerOf(sandbox, body))
    expect([outcome, kind]).toEqual(['limit', expect.stringMatching(/^(memory|interpreter_time)$/)])
    await staysUsable()
  })

  test.each([
    ['recursion', 'const f = () => f() + 1; return f()'],
    ['recursion over JSON', `let s = ''; for (let n = 0; n < 1e5; n++) s += '['; return JSON.parse(s)`],
    ['a nested regular expression', `return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('')`],
    ['a deep toString', 'let a = []; for (let n = 0; n < 1e5; n++) a = [a]; return String(a)'],
  ])('stack: %s', async (_, body) => {
    const result = await answerOf(sandbox, body)
    expect(result.outcome).not.toBe('done')
    await staysUsable()
  })

  test.each([
    ['BigInt powers', 'let n = 7n; for (let i = 0; i < 40; i++) n = n ** 7n; return String(n).length'],
    ['reverse of a huge length', 'return Array.prototype.reverse.call({ length: 2 ** 53 - 1 })'],
    ['a sparse search', 'const a = []; a.length = 2 ** 32 - 1; return a.indexOf(1)'],
    ['split and join', `let s = 'a'.repeat(1e6); for (let n = 0; n < 1e4; n++) s = s.split('').join(''); return s.length`],
    ['a huge text', `return 'a'.repeat(2 ** 29).length`],
    ['a text that doubles', `let s = 'abc'; for (;;) s += s + s.length`],
    ['a sort that lies', 'return new Array(1e7).fill(0).sort(() => 1).length'],
  ])('an operation that cannot be interrupted: %s', async (_, body) => {
    const result = await answerOf(sandbox, body)
    expect(result.outcome).not.toBe('done')
    expect(result.ms).toBeLessThan(5000)
    await staysUsable()
  })

  test('waiting for a call that never answers', async () => {
    const serve: ServeCall = () => new Promise(() => undefined)
    expect(await kindOf(answerOf(sandbox, 'await svc.data.get("k")', { serve }))).toEqual(['limit', 'wall_time'])
    await staysUsable()
  })

  test('more than 200 calls', async () => {
    const patient = sandboxWith({ wallMs: 60_000 }) // on a busy machine 200 calls take longer than a run may
    const body = 'for (let n = 0; n < 201; n++) await svc.data.get("k")'
    expect(await kindOf(answerOf(patient, body, { serve: echo }))).toEqual(['limit', 'calls']) // at once, not when the time is over
    const flood = 'await Promise.all(Array.from({ length: 10000 }, () => svc.data.get("k")))'
    let asked = 0
    const counting: ServeCall = async () => ({ value: ++asked })
    expect(await answerOf(sandbox, flood, { serve: counting })).toMatchObject({ outcome: 'limit' })
    expect(asked).toBeLessThanOrEqual(200)
    await patient.close()
  })

  test.each([
    ['arguments', `const text = 'x'.repeat(200000); await Promise.all(Array.from({ length: 190 }, (_, n) => svc.data.put('k' + n, text)))`],
    ['results', `await Promise.all(Array.from({ length: 190 }, (_, n) => svc.data.get('k' + n)))`],
  ])('many large %s pass at a pace that the daemon does not feel', async (_, flood) => {
    let served = 0
    const serve: ServeCall = async (name) => {
      served++
      return { value: name === 'data.get' ? 'x'.repeat(200_000) : null }
    }
    const { outcome, ms } = await answerOf(sandbox, flood, { serve })
    expect(outcome).toBe('limit')
    expect(served * 200_000).toBeLessThan(700_000 + 4_000 * ms)
    await staysUsable()
  })

  test('lists of many small entries pass at that pace too: each is a row that the daemon reads', async () => {
    let served = 0
    const entries = Array.from({ length: 1000 }, (_, n) => ({ key: `k${n}`, value: 1 }))
    const serve: ServeCall = async () => {
      served++
      return { value: entries }
    }
    const flood = `await Promise.all(Array.from({ length: 190 }, () => svc.data.list({ limit: 1000 })))`
    const { outcome, ms } = await answerOf(sandbox, flood, { serve })
    expect(outcome).toBe('limit')
    expect(served).toBeLessThan(5 + ms / 50)
    expect(await answerOf(sandbox, `await svc.data.list(); return 1`, { serve })).toMatchObject({ outcome: 'done', violations: [] })
  })

  test('some large calls of an honest module do not wait', async () => {
    const body = `const text = 'x'.repeat(20000); for (let n = 0; n < 10; n++) await svc.data.put('k' + n, text); return 1`
    expect(await answerOf(sandbox, body, { serve: echo })).toMatchObject({ outcome: 'done', violations: [] })
  })

  test('a call or an answer that is too large', async () => {
    expect(await kindOf(answerOf(sandbox, `await svc.data.put('k', 'x'.repeat(300000))`))).toEqual(['limit', 'call_size'])
    expect(await kindOf(answerOf(sandbox, `await svc.data.put('k', 'ü'.repeat(140000))`))).toEqual(['limit', 'call_size'])
    const large: ServeCall = async () => ({ value: 'x'.repeat(300_000) })
    expect(await kindOf(answerOf(sandbox, `await svc.data.get('k')`, { serve: large }))).toEqual(['limit', 'call_size'])
    expect(await kindOf(answerOf(sandbox, `return 'x'.repeat(1100000)`))).toEqual(['limit', 'answer_size'])
    await staysUsable()
  })

  test.each([
    ['is another text', `String.prototype.slice = () => big; throw new Error('a')`],
    ['has another text', `String.prototype.slice = () => ({ toString: () => big }); throw new Error('a')`],
    ['has a long name', `throw Object.assign(new Error('a'), { name: big })`],
    ['has a long place', `throw Object.assign(new Error('a'), { stack: big + '.js:1' })`],
  ])('an error that %s has at most 1,000 letters, so that the host keeps no more', async (_, code) => {
    for (const begin of ['', 'InternalError: stack overflow']) {
      const result = await answerOf(sandbox, `const big = ${JSON.stringify(begin)} + 'x'.repeat(100000); ${code}`)
      const texts = [...result.violations.map(({ message }) => message), 'message' in result ? result.message : '']
      expect(Math.max(...texts.map(({ length }) => length))).toBeLessThan(1100)
    }
  })

  test('an answer of many values crosses to the host as a text: to copy them would hold up every other request', async () => {
    const many = `JSON.parse('{"a":0' + Array.from({ length: 50000 }, (_, n) => ',"a' + n + '":0').join('') + '}')`
    const answer = await answerOf(sandbox, `return { status: 201, body: ${many} }`)
    expect(answer).toMatchObject({ outcome: 'done', value: { status: 201 }, body: expect.stringMatching(/^{"a":0,"a0":0,/) })
    expect((answer as { value: unknown }).value).toEqual({ status: 201 })
    for (const other of [`return ${many}`, `return { headers: ${many} }`, `return { ...${many}, body: 1 }`])
      expect(await kindOf(answerOf(sandbox, other))).toEqual(['limit', 'answer_size'])
  })

  test('an event and a migration return nothing, whatever the module makes of promises', async () => {
    const code = `
      const then = Promise.prototype.then
      Object.defineProperty(Promise.prototype, 'constructor', { value: class {}, configurable: true })
      Promise.prototype.then = function (done, failed) { return then.call(this, () => done(['forged']), failed) }
      export const on = { 'space.created': async () => 1 }
      export const migrations = [async () => 1]`
    expect(await runCode(sandbox, code)).toMatchObject({ outcome: 'done', value: null })
    expect(await runCode(sandbox, code, { job: { type: 'migration', index: 0 } })).toMatchObject({ outcome: 'done', value: null })
  })

  test('an answer that is nested too deep is a failure', async () => {
    const deep = (levels: number) => `let v = 1; for (let n = 0; n < ${levels}; n++) v = [v]; return { body: v }`
    expect(await answerOf(sandbox, deep(63))).toMatchObject({ outcome: 'done' })
    expect(await answerOf(sandbox, deep(64))).toMatchObject({
      outcome: 'failed',
      message: expect.stringContaining('nested deeper than 64'),
    })
  })

  test('a log of any length is cut', async () => {
    const result = await answerOf(sandbox, `for (let n = 0; n < 5000; n++) svc.log('x'.repeat(2000))`)
    expect(result.log).toHaveLength(100)
    expect(result.log.every((line) => line.length === 1000)).toBe(true)
  })

  test('the texts of a log take no memory but that of their beginnings', async () => {
    const result = await answerOf(sandbox, `const x = 'x'.repeat(8e6); for (let n = 0; n < 10; n++) svc.log(x)`)
    expect([result.violations, result.log.length]).toEqual([[], 10])
  })

  test('one that is ended holds up the others for no longer than its limits', async () => {
    const two = sandboxWith({}, 2)
    try {
      const looping = answerOf(two, 'for (;;);')
      const others = await Promise.all(Array.from({ length: 20 }, (_, n) => answerOf(two, `return ${n}`)))
      expect(others.every(({ outcome }) => outcome === 'done')).toBe(true)
      expect((await looping).outcome).toBe('limit')
    } finally {
      await two.close()
    }
  })
})
