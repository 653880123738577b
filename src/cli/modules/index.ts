// `tenantry modules`: for authors of modules: make, check, test and pack one without a daemon, and submit it to the store.
// It decides nothing itself: the same manifest rules, scan and sandbox run in the store and in the daemon.
import { duration, plural, problem } from '../../core/kit/index.ts'
import type { TestedStep } from '../../node/module-test/index.ts'
import { type Column, clean, command, fields, noun, sections, table, text } from '../kit/index.ts'
import { checkedView, checkFolder } from './check.ts'
import { register, submit } from './developer.ts'
import { createModule, writePackage } from './files.ts'

import { operatorVerbs } from './operate.ts'

const local = { local: true } as const

const init = command('init <dir>', 'Create a working module in a new folder', {
  options: { id: text('--id <id>', 'id of the module (default: the name of the folder)') },
  run: (_, { dir, id }) => createModule(dir, id),
  view: ({ id, dir, files }, { paint }) =>
    [`${paint.green('created:')} ${id} in ${dir}`, ...files.map((file) => `  ${file}`), '', `next: tenantry modules test ${dir}`].join(
      '\n',
    ),
  ...local,
  examples: ['init attendance'],
})

const check = command('check <dir>', 'Validate and scan a module as the store does', {
  run: async (_, { dir }) => (await checkFolder(dir)).checked,
  view: checkedView,
  ...local,
  exit: ({ ok }) => (ok ? 0 : 5),
  examples: ['check attendance'],
})

const stepColumns: Column<TestedStep>[] = [
  { title: 'STEP', value: ({ step }) => step, priority: 1 },
  { title: 'STATUS', value: ({ ok }) => (ok ? 'OK' : 'failed'), priority: 1, paint: ({ ok }) => (ok ? 'green' : 'red') },
  { title: 'DURATION', value: ({ ms }) => duration(ms), priority: 3, align: 'right' },
  { title: 'CALLS', value: ({ calls }) => calls, priority: 4, align: 'right' },
  { title: 'MESSAGE', value: ({ message }) => message && clean(message), priority: 1 },
]

const test = command('test <dir>', 'Run migrations and handlers in the sandbox on samples.json', {
  run: async ({ clock }, { dir }) => {
    const { module } = await checkFolder(dir)
    if (module.manifest.type === 'B')
      throw problem('MODULE_INVALID', 'A type B module runs on its own server. fix: test it there; modules check covers its package')
    const { openSandbox } = await import('../../node/sandbox/index.ts')
    const { testModule } = await import('../../node/module-test/index.ts')
    const sandbox = openSandbox({ threads: 1 })
    try {
      return await testModule(sandbox, module, clock.now().toISOString())
    } finally {
      await sandbox.close()
    }
  },
  view: ({ ok, ran, ms, log }, style) =>
    sections(
      table(style, stepColumns, ran),
      log.length > 0 ? ['log:', ...log.map((line) => `  ${clean(line)}`)].join('\n') : undefined,
      `${ok ? style.paint.green('OK') : style.paint.red('failed')} (${plural(ran.length, 'step')}, ${duration(ms)})`,
    ),
  ...local,
  exit: ({ ok }) => (ok ? 0 : 5),
  examples: ['test attendance'],
})

const pack = command('pack <dir>', 'Check a module and write its package', {
  options: { out: text('--out <file>', 'file to write (default: <id>-<version>.zip here)') },
  run: async (_, { dir, out }) => {
    const { checked, zip, checksum } = await checkFolder(dir)
    return writePackage({ checked, zip, checksum, out })
  },
  view: ({ file, bytes, sha256 }, style) =>
    fields(style, [
      ['package', file],
      ['bytes', bytes],
      ['sha256', sha256],
    ]),
  ...local,
  examples: ['pack attendance', 'pack attendance --out /tmp/attendance.zip'],
})

export const modules = noun('modules', 'Author and operate modules', [init, check, test, pack, register, submit, ...operatorVerbs])
