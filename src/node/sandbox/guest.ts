/**
 * JavaScript that runs inside the sandbox before any code of a module: it makes `svc` from the one host function, imports the module and calls
 * it. What it needs it takes before the module could change it; all it protects is the module from its own mistakes. The walls are outside.
 */
export const guest = `((call, jobText) => {
  'use strict'
  const { parse, stringify } = JSON
  const { freeze, hasOwn, keys, values } = Object
  const job = parse(jobText)

  const invoke = async (name, input) => {
    const answer = parse(await call(name, stringify(input)))
    if (answer.error) throw Object.assign(new Error(answer.error.message), { code: answer.error.code })
    return answer.value
  }
  const textOf = (word) => (typeof word === 'string' ? word : word instanceof Error ? String(word) : stringify(word) ?? String(word))
  const frozen = (value) => {
    if (typeof value === 'object' && value !== null) for (const one of values(freeze(value))) frozen(one)
    return value
  }
  const svc = frozen({
    data: {
      get: (key) => invoke('data.get', { key }),
      put: (key, value) => invoke('data.put', { key, value }),
      delete: (key) => invoke('data.delete', { key }),
      list: (options = {}) => invoke('data.list', options),
    },
    events: { publish: (name, payload = {}, options = {}) => invoke('events.publish', { ...options, name, payload }) },
    spaces: { list: () => invoke('spaces.list', {}) },
    files: {
      list: (spaceId) => invoke('files.list', { spaceId }),
      read: (fileId) => invoke('files.read', { fileId }),
      write: (file) => invoke('files.write', file),
    },
    log: (...words) => void call('log', words.map(textOf).join(' ')),
    settings: job.settings,
    now: job.now,
  })

  const perform = async () => {
    const module = await import(job.main)
    const on = typeof module.on === 'object' && module.on !== null ? module.on : {}
    if (job.type === 'describe')
      return {
        events: keys(on).filter((type) => typeof on[type] === 'function'),
        routes: typeof module.handle === 'function',
        migrations: Array.isArray(module.migrations) ? module.migrations.length : 0,
      }
    if (job.type === 'request') return module.handle(frozen(job.request), svc)
    if (job.type === 'migration') return void (await module.migrations[job.index](svc))
    if (hasOwn(on, job.event.type)) await on[job.event.type](frozen(job.event), svc)
  }
  const failureOf = (error) => {
    const text = error instanceof Error ? error.name + ': ' + error.message : 'the module threw ' + textOf(error)
    const place = error instanceof Error ? /[A-Za-z0-9_.\\/-]+\\.m?js:\\d+(:\\d+)?/.exec(error.stack) : null
    return (text + (place ? ' (' + place[0] + ')' : '')).slice(0, 1000)
  }
  return perform().then(
    (value) => '{"value":' + (stringify(value) ?? 'null') + '}',
  ).catch((error) => stringify({ error: failureOf(error) }))
})`
