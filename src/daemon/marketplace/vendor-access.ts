import { vendorHeader } from '../../core/marketplace/index.ts'
import { type PageAccess, pageAccess } from '../http/index.ts'

export const vendorAccess = (baseUrl: string): PageAccess =>
  pageAccess(baseUrl, {
    ...{ name: 'page of vendors', path: '/vendor', header: vendorHeader },
    cookie: { secure: '__Host-tenantry-vendor', plain: 'tenantry-vendor' },
  })
