// `tenantry doctor`: checks whether this machine can work with the daemon, and names a fix for each failed check.
// `tenantry status`: alerts, rollouts, drift and hosts on one screen.
// `tenantry settings`: what the daemon was started with.
// None of them changes anything.
import { catalogue } from '../../core/kit/index.ts'
import { buildVersion } from '../../node/package.ts'
import { clean, command, type Paint, padEnd } from '../kit/index.ts'
import { allChecks, type Check } from './checks.ts'

export { settings } from './settings.ts'
export { status } from './status.ts'

const marks = { ok: ['✓', 'green'], warn: ['!', 'yellow'], failed: ['✗', 'red'], skipped: ['·', 'dim'] } as const satisfies Record<
  Check['state'],
  readonly [string, keyof Paint]
>

export const doctor = command('doctor', 'Check daemon, login and clock', {
  run: async (context) => ({ checks: await allChecks(context, buildVersion()) }),
  view: ({ checks }, { paint }) => {
    const left = Math.max(...checks.map(({ name }) => name.length))
    return checks
      .flatMap(({ name, state, message, fix }) => {
        const [mark, tint] = marks[state]
        const line = `${paint[tint](mark)} ${padEnd(name, left)}  ${clean(message)}`
        return fix ? [line, `  ${' '.repeat(left)}  ${paint.dim('fix:')} ${clean(fix)}`] : [line]
      })
      .join('\n')
  },
  exit: ({ checks }) => (checks.some(({ state }) => state === 'failed') ? catalogue.UNAVAILABLE.exit : 0),
})
