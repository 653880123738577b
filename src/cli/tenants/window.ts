import { problem } from '../../core/kit/index.ts'
import { parseWindow, type WindowPart } from '../../core/wall-clock/index.ts'
import { command, flag, many, text } from '../kit/index.ts'
import { tenantView } from './tenants.view.ts'

export const window = command('window <slug>', 'Set the maintenance window of a tenant', {
  options: {
    days: many('--days <days>', 'days: mon,tue or mon-fri or daily'),
    from: text('--from <time>', 'opening time, local: 02:00'),
    to: text('--to <time>', 'closing time; at or before --from: on the next day'),
    at: text('--at <windows>', 'several windows: "mon-fri 02:00-05:00; sun 22:00-06:00"'),
    timeZone: text('--time-zone <zone>', 'time zone, such as Europe/Berlin'),
    anyTime: flag('--any-time', 'allow updates at any time'),
    clear: flag('--clear', 'reset to the window of the tier'),
  },
  run: ({ api }, { slug, timeZone, ...input }) => {
    const change = changeOf(slug, input)
    const zone = input.clear ? { timeZone: null } : timeZone ? { timeZone } : {}
    if (input.clear && timeZone) throw usage(slug, '--clear also resets the time zone; remove --time-zone')
    if (change === undefined && !timeZone) throw usage(slug, 'nothing to change; pass a window or --time-zone')
    return api.tenants.changeTenant({ params: { slug }, body: { ...zone, ...(change === undefined ? {} : { maintenanceWindow: change }) } })
  },
  view: tenantView,
  examples: [
    'window anna-schule --days mon-fri --from 02:00 --to 05:00 --time-zone Europe/Berlin',
    "window anna-schule --at 'sat,sun 20:00-06:00; wed 02:00-04:00'",
    'window anna-schule --clear',
  ],
})

type Input = Readonly<{
  days: readonly string[]
  from?: string | undefined
  to?: string | undefined
  at?: string | undefined
  anyTime: boolean
  clear: boolean
}>

/** Undefined when no window option is given. */
function changeOf(slug: string, { days, from, to, at, anyTime, clear }: Input): WindowPart[] | 'any' | null | undefined {
  const parts = [days.length > 0, from !== undefined, to !== undefined]
  const kinds = [parts.includes(true), at !== undefined, anyTime, clear].filter(Boolean).length
  if (kinds > 1) throw usage(slug, 'pass only one of: --days with --from and --to, --at, --any-time, --clear')
  if (parts.includes(true) && parts.includes(false)) throw usage(slug, '--days, --from and --to are required together')
  if (clear) return null
  if (anyTime) return 'any'
  const spec = at ?? (parts.includes(true) ? `${days.join(',')} ${from}-${to}` : undefined)
  return spec === undefined ? undefined : read(slug, spec)
}

function read(slug: string, input: string): WindowPart[] {
  try {
    return parseWindow(input)
  } catch (error) {
    throw usage(slug, `"${input}": ${(error as Error).message}`)
  }
}

const usage = (slug: string, what: string) =>
  problem('USAGE', `${what}. Example: tenantry tenants window ${slug} --days mon-fri --from 02:00 --to 05:00 --time-zone Europe/Berlin`)
