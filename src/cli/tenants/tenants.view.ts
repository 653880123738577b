import { type FileUsage, formatSize } from '../../core/files/index.ts'
import { plural } from '../../core/kit/index.ts'
import { liftOf, type Tenant, type TenantInFull } from '../../core/tenants/index.ts'
import { momentText, windowText } from '../../core/wall-clock/index.ts'
import type { BoxWindow } from '../../core/windows/index.ts'
import { ago, type Column, clean, fields, type Style, sections, stamp, table } from '../kit/index.ts'

const columns = ({ now }: Style): Column<Tenant>[] => [
  { title: 'TENANT', value: ({ slug }) => slug, priority: 1, minWidth: 12 },
  { title: 'NAME', value: ({ name }) => name, priority: 3, minWidth: 10 },
  { title: 'PLAN', value: ({ plan }) => plan, priority: 2 },
  { title: 'STATUS', value: ({ status }) => status, priority: 2, paint: ({ status }) => (status === 'active' ? undefined : 'yellow') },
  { title: 'CHAT DOMAIN', value: ({ chatDomain }) => chatDomain, priority: 4, minWidth: 12 },
  { title: 'MAINTENANCE WINDOW', value: ({ window }) => windowWords(window), priority: 2, minWidth: 16 },
  { title: 'OPENS', value: ({ window }) => window && opens(window.opensAt, now), priority: 3 },
]

const opens = (opensAt: string, now: Date): string => (Date.parse(opensAt) <= now.getTime() ? 'now' : ago(opensAt, now))

type Page = Readonly<{ tenants: readonly Tenant[]; nextCursor: string | null }>

export const tenantList = ({ tenants, nextCursor }: Page, style: Style): string =>
  tenants.length === 0
    ? 'No tenants. Create one with a box: `tenantry boxes provision`; without: `tenantry tenants create`'
    : sections(table(style, columns(style), tenants), nextCursor ? `Next page: --cursor ${nextCursor}` : '')

export const tenantView = (tenant: Tenant, style: Style): string =>
  fields(style, [
    ['tenant', style.paint.bold(tenant.slug)],
    ['name', clean(tenant.name)],
    ['plan', `${tenant.plan} (tier ${tenant.tier})`],
    ['status', statusWords(tenant, style.now)],
    ['', tenant.suspendedCause && `cause: ${tenant.suspendedCause}; to lift it: ${liftOf(tenant)}`],
    ['chat domain', clean(tenant.chatDomain)],
    ['homeserver', homeserverWords(tenant)],
    ['display name', clean(tenant.branding.tenantName)],
    ['colour', tenant.branding.color],
    ['logo', tenant.branding.logoPath],
    ['flags', flagWords(tenant)],
    ['school', clean(tenant.schoolId)],
    ['organisation', clean(tenant.orgId)],
    ['billing address', tenant.billingEmail && clean(tenant.billingEmail)],
    ['payment customer', tenant.paymentCustomerId && clean(tenant.paymentCustomerId)],
    ['window', windowWords(tenant.window)],
    ['', tenant.window && openingWords(tenant.window, style.now)],
    ['time zone', tenant.timeZone ?? tenant.window?.timeZone],
    ['created', stamp(tenant.createdAt, style.now)],
    ['id', tenant.id, 'detail'],
  ])

function statusWords({ status, suspendedReason, resumedUntil }: Tenant, now: Date): string {
  if (resumedUntil !== null) return `active until ${stamp(resumedUntil, now)}, then suspended again: ${clean(suspendedReason ?? '')}`
  return suspendedReason ? `${status}: ${clean(suspendedReason)}` : status
}

export const tenantInFull = (tenant: TenantInFull, style: Style): string =>
  sections(tenantView(tenant, style), fileUsage(tenant.files, style))

const fileUsage = ({ usedBytes, quotaBytes, kept, deleted, underWay, largestSpaces }: FileUsage, style: Style): string =>
  fields(style, [
    ['files', `${formatSize(usedBytes)} of ${formatSize(quotaBytes)}${usedBytes >= quotaBytes ? ': full, uploads are refused' : ''}`],
    ['', `${plural(kept.count, 'file')}, ${formatSize(kept.bytes)}`],
    ['', deleted.count === 0 ? null : `${deleted.count} deleted, not erased yet, ${formatSize(deleted.bytes)}`],
    ['', underWay.count === 0 ? null : `${plural(underWay.count, 'upload')} in progress, ${formatSize(underWay.bytes)} reserved`],
    ...largestSpaces.map(({ id, name, count, bytes }, n): [string, string] => [
      n === 0 ? 'largest spaces' : '',
      `${formatSize(bytes)} in ${plural(count, 'file')}: ${clean(name)} (${id})`,
    ]),
  ])

const homeserverWords = ({ homeserver }: Tenant): string =>
  homeserver
    ? `${clean(homeserver.publicUrl)}${homeserver.fenced ? ', in maintenance' : ''}`
    : 'none; create its box: tenantry boxes provision'

const flagWords = ({ featureFlags }: Tenant): string =>
  Object.entries(featureFlags)
    .map(([name, on]) => `${clean(name)}=${on ? 'on' : 'off'}`)
    .join(', ')

/** `mon-fri 02:00-05:00 Europe/Berlin (tier default)`, or `any time`. */
export const windowWords = (window: BoxWindow | null): string =>
  window ? `${windowText(window.window)} ${window.timeZone}${window.own ? '' : ' (tier default)'}` : 'any time'

/** The next opening or closing time, in the window's time zone and in UTC. */
export const openingWords = ({ opensAt, closesAt, timeZone }: BoxWindow, now: Date): string =>
  Date.parse(opensAt) <= now.getTime() ? `open until ${momentText(closesAt, timeZone)}` : `opens ${momentText(opensAt, timeZone)}`
