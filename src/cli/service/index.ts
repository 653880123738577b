import { catalogue } from '../../core/kit/index.ts'
import { packageVersion } from '../../node/package.ts'
import { clean, command, type Paint, padEnd } from '../kit/index.ts'
import { allChecks, type Check } from './checks.ts'

// `tenantry doctor`: whether this machine can work with the daemon, and how to mend what keeps it from it.

const marks = { ok: ['✓', 'green'], warn: ['!', 'yellow'], failed: ['✗', 'red'], skipped: ['·', 'dim'] } as const satisfies Record<
  Check['state'],
  readonly [string, keyof Paint]
>

export const doctor = command(
  'doctor',
  'Look at daemon, login and clock; say how to mend what is not well',
  {},
  async (context) => ({ checks: await allChecks(context, packageVersion()) }),
  ({ checks }, { paint }) => {
    const left = Math.max(...checks.map(({ name }) => name.length))
    return checks
      .flatMap(({ name, state, says, mend }) => {
        const [mark, tint] = marks[state]
        const line = `${paint[tint](mark)} ${padEnd(name, left)}  ${clean(says)}`
        return mend ? [line, `  ${' '.repeat(left)}  ${paint.dim('mend:')} ${clean(mend)}`] : [line]
      })
      .join('\n')
  },
  { exit: ({ checks }) => (checks.some(({ state }) => state === 'failed') ? catalogue.UNAVAILABLE.exit : 0) },
)
