import type { Job } from './task.ts'

/** The part of a module that a job calls, as JavaScript. Reading code is most of the cost of a short run: only what a run needs is read. */
const performs: Readonly<Record<Job['type'], string>> = {
  event: `if (Object.hasOwn(on, job.event.type)) await on[job.event.type](frozen(job.event), svc)`,
  request: `return module.handle(frozen(job.request), svc)`,
  migration: `await module.migrations[job.index](svc)`,
  describe: `return {
    events: Object.keys(on).filter((type) => typeof on[type] === 'function'),
    routes: typeof module.handle === 'function',
    migrations: Array.isArray(module.migrations) ? module.migrations.length : 0,
  }`,
}

/**
 * `Math.random` (sfc32) is seeded for each run by the host: the seed of the engine is the real time, which a module must not see.
 * JavaScript that runs inside the sandbox before any code of a module: it makes `svc` from the one host function, imports the module and calls
 * it. It protects nothing but the module from its own mistakes: the walls are outside.
 */
export const guestFor = (type: Job['type']): string => `(async (call, jobText) => {
'use strict'
const { parse, stringify } = JSON
const job = parse(jobText)
let [a, b, c, d] = job.seed
Math.random = () => {
  const sum = (((a + b) | 0) + d) | 0
  d = (d + 1) | 0
  a = b ^ (b >>> 9)
  b = (c + (c << 3)) | 0
  c = (((c << 21) | (c >>> 11)) + sum) | 0
  return (sum >>> 0) / 4294967296
}
for (let n = 0; n < 12; n++) Math.random()
const invoke = async (name, input) => {
  const { error, value } = parse(await call(name, stringify(input)))
  if (error) throw Object.assign(new Error(error.message), { code: error.code })
  return value
}
const frozen = (value) => {
  if (typeof value === 'object' && value !== null) for (const one of Object.values(Object.freeze(value))) frozen(one)
  return value
}
const svc = frozen({
  data: {
    get: (key) => invoke('data.get', { key }),
    put: (key, value) => invoke('data.put', { key, value }),
    delete: (key) => invoke('data.delete', { key }),
    list: (options = {}) => invoke('data.list', options),
  },
  events: { publish: (name, payload = {}, options) => invoke('events.publish', { ...options, name, payload }) },
  spaces: { list: () => invoke('spaces.list', {}) },
  files: {
    list: (spaceId) => invoke('files.list', { spaceId }),
    read: (fileId) => invoke('files.read', { fileId }),
    write: (file) => invoke('files.write', file),
  },
  log: (...words) => void call('log', words.map((word) => (typeof word === 'object' && !(word instanceof Error) ? stringify(word) : String(word))).join(' ')),
  settings: job.settings,
  now: job.now,
})
const module = await import(job.main)
const on = Object(module.on)
const perform = async () => { ${performs[type]} }
return stringify(await perform()) ?? 'null'
})`

/**
 * A function that turns what a module threw into a line of text, with its place. The engine throws null, or an error while the text is made,
 * once it has no memory left.
 */
export const failureText = `((error) => {
  try {
    if (error === null) return 'InternalError: out of memory'
    const isError = error instanceof Error
    const text = isError ? error.name + ': ' + error.message : 'the module threw ' + (typeof error === 'object' ? JSON.stringify(error) : String(error))
    const place = isError ? /[A-Za-z0-9_.\\/-]+\\.m?js:\\d+(:\\d+)?/.exec(error.stack) : null
    return text.slice(0, 900) + (place ? ' (' + place[0].slice(0, 90) + ')' : '')
  } catch (other) {
    return other instanceof InternalError || other === null ? 'InternalError: out of memory' : 'the module threw an error that has no text'
  }
})`
