import { problem } from '../../core/kit/index.ts'
import { parseWindow, type WindowPart } from '../../core/wall-clock/index.ts'
import { command, flag, many, text } from '../kit/index.ts'
import { tenantView } from './tenants.view.ts'

export const window = command(
  'window <slug>',
  'Say when rollouts may disturb a tenant; boxes that have not begun keep to it at once',
  {
    days: many('--days <days>', 'on which it opens: mon,tue or mon-fri or daily'),
    from: text('--from <time>', 'when it opens by its own clock: 02:00'),
    to: text('--to <time>', 'when it closes; at or before --from is on the following day'),
    at: text('--at <windows>', 'several at once: "mon-fri 02:00-05:00; sun 22:00-06:00"'),
    timeZone: text('--time-zone <zone>', 'whose clock it goes by, such as Europe/Berlin'),
    anyTime: flag('--any-time', 'at any time, whatever its tier says'),
    clear: flag('--clear', 'what its tier says, by the clock of the platform'),
  },
  ({ api }, { slug, timeZone, ...given }) => {
    const change = changeOf(slug, given)
    const zone = given.clear ? { timeZone: null } : timeZone ? { timeZone } : {}
    if (given.clear && timeZone) throw usage(slug, '--clear also gives up the time zone: leave out --time-zone')
    if (change === undefined && !timeZone) throw usage(slug, 'say when it may be disturbed, or by which clock')
    return api.tenants.changeTenant({ params: { slug }, body: { ...zone, ...(change === undefined ? {} : { maintenanceWindow: change }) } })
  },
  tenantView,
  {
    examples: [
      'window anna-schule --days mon-fri --from 02:00 --to 05:00 --time-zone Europe/Berlin',
      "window anna-schule --at 'sat,sun 20:00-06:00; wed 02:00-04:00'",
      'window anna-schule --clear',
    ],
  },
)

type Given = Readonly<{
  days: readonly string[]
  from?: string | undefined
  to?: string | undefined
  at?: string | undefined
  anyTime: boolean
  clear: boolean
}>

/** Undefined when nothing is said about it. */
function changeOf(slug: string, { days, from, to, at, anyTime, clear }: Given): WindowPart[] | 'any' | null | undefined {
  const parts = [days.length > 0, from !== undefined, to !== undefined]
  const ways = [parts.includes(true), at !== undefined, anyTime, clear].filter(Boolean).length
  if (ways > 1) throw usage(slug, 'give one of: --days with --from and --to, --at, --any-time, --clear')
  if (parts.includes(true) && parts.includes(false)) throw usage(slug, '--days, --from and --to belong together')
  if (clear) return null
  if (anyTime) return 'any'
  const said = at ?? (parts.includes(true) ? `${days.join(',')} ${from}-${to}` : undefined)
  return said === undefined ? undefined : read(slug, said)
}

function read(slug: string, said: string): WindowPart[] {
  try {
    return parseWindow(said)
  } catch (error) {
    throw usage(slug, `"${said}": ${(error as Error).message}`)
  }
}

const usage = (slug: string, what: string) =>
  problem('USAGE', `${what}; tenantry tenants window ${slug} --days mon-fri --from 02:00 --to 05:00 --time-zone Europe/Berlin`)
