import type { NewAlert } from './alert.ts'

type OfModule = Readonly<{ slug: string; moduleId: string }>

/** The service of a type B module did not confirm for 30 days that it deleted the data of a tenant. */
export const moduleDataNotDeleted = ({ slug, moduleId, reason }: OfModule & Readonly<{ reason: string }>): NewAlert => ({
  kind: 'module_data_not_deleted',
  key: `module_data_not_deleted:${slug}/${moduleId}`,
  subject: `${slug}/${moduleId}`,
  severity: 'warning',
  title: `The service of ${moduleId} still has data of ${slug}`,
  body:
    `${slug} uninstalled ${moduleId}, and its service was asked for 30 days to delete the data of this tenant. Last attempt: ${reason}. It is not ` +
    'asked again. The data on this platform is deleted.\n' +
    'Ask the operator of the service, whom the manifest of the module names, to delete the data and to confirm it.',
  command: `tenantry modules upstream ${moduleId}`,
})

/** A module was 10,000 events or 7 days behind. */
export const moduleEventsSkipped = ({ slug, moduleId, events }: OfModule & Readonly<{ events: number }>): NewAlert => ({
  kind: 'module_events_skipped',
  key: `module_events_skipped:${slug}/${moduleId}`,
  subject: `${slug}/${moduleId}`,
  severity: 'warning',
  title: `${moduleId} missed events of ${slug}`,
  body:
    `${moduleId} was more than 10,000 events or 7 days behind in ${slug}. ${events} events were skipped, and it continues with new ones. What it ` +
    'stores may be out of date. Other modules and tenants are not affected.\n' +
    'Find out why it is slow or away; its developer knows how to bring its data up to date.',
  command: `tenantry modules health ${moduleId}`,
})

type Withdrawn = Readonly<{ moduleId: string; tenants: readonly string[] }>

export const paidModuleWithdrawnKey = (moduleId: string): string => `paid_module_withdrawn:${moduleId}`

/** Tenants pay for an app whose module is withdrawn. One alert for each module; after an acknowledgement the next withdrawal raises it again. */
export const paidModuleWithdrawn = ({ moduleId, tenants }: Withdrawn): NewAlert => ({
  kind: 'paid_module_withdrawn',
  key: paidModuleWithdrawnKey(moduleId),
  subject: moduleId,
  severity: 'warning',
  title: `${tenants.length === 1 ? '1 tenant pays' : `${tenants.length} tenants pay`} for an app of a withdrawn module`,
  body:
    `The module ${moduleId} is withdrawn, and paid apps with it charge on: ${tenants.slice(0, 10).join(', ')}` +
    `${tenants.length > 10 ? ` and ${tenants.length - 10} more` : ''}.\n` +
    'Cancel their subscriptions in the Dashboard of the provider, which uninstalls the apps, and refund what is due. ' +
    'The alert closes when the module is restored. Otherwise acknowledge it once the subscriptions have ended.',
  command: `tenantry modules show ${moduleId}`,
})
