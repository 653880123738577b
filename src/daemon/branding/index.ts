// Name, colour and logo of a tenant, set by its own administration. Bytes of logos are in the object store, under keys that a row names before.
// Serves logos to everyone who knows their id. Tenants decide what a name may be; no chat server is involved.
import './branding.tables.ts'
import { brandingContract } from '../../core/branding/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { changeBranding, deleteLogo, putLogo } from './change-branding.ts'
import type { BrandingDeps } from './deps.ts'
import { eraseDueLogos } from './erase-logos.ts'
import { ownBranding, showLogo } from './show-branding.ts'

export { logosStored, someLogoKeys } from './logos.repo.ts'

export const brandingFeature = feature<BrandingDeps>({
  name: 'branding',
  routes: (deps) =>
    serveContract(brandingContract, {
      showBranding: ({ actor }) => ownBranding(deps.db, actor),
      changeBranding: ({ actor, body }) => changeBranding(deps, actor, body),
      putLogo: ({ actor, upload }) => putLogo(deps, actor, { upload }),
      deleteLogo: ({ actor }) => deleteLogo(deps, actor),
      showLogo: ({ params }) => showLogo(deps, params),
    }),
  cleanup: (deps) => [(signal) => eraseDueLogos(deps, signal)],
})
