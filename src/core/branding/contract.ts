import { z } from 'zod'
import { type Contract, endpoint, file, open, platform } from '../contract/index.ts'
import { Branding, BrandingChange, LogoKey, logoRoute } from './branding.ts'
import { logoLimits } from './logo-limits.ts'

const path = '/api/platform/v1/branding'
const auth = platform('manageUsers')

const OwnBranding = Branding.extend({
  contrast: z
    .object({
      onWhite: z.number().meta({ description: 'Of text in this colour on white; below 4.5 it is hard to read' }),
      onBlack: z.number().meta({ description: 'The same on black' }),
    })
    .nullable()
    .meta({ description: 'Of `color`, from 1 to 21' }),
  logo: z.object({ contentType: z.string(), bytes: z.int(), width: z.int(), height: z.int() }).nullable(),
})
export type OwnBranding = Readonly<z.infer<typeof OwnBranding>>

/** Name, colour and logo of a tenant, set by itself. */
export const brandingContract = {
  showBranding: endpoint({ method: 'GET', path, auth, returns: OwnBranding, summary: 'Show name, colour and logo of your organisation' }),
  changeBranding: endpoint({
    method: 'PATCH',
    audit: 'tenant.changed',
    path,
    auth,
    body: BrandingChange,
    returns: OwnBranding,
    problems: ['CONFLICT'],
    summary: 'Change name or colour of your organisation; the answer has the contrast of the colour',
  }),
  putLogo: endpoint({
    method: 'PUT',
    audit: 'tenant.changed',
    path: `${path}/logo`,
    auth,
    multipart: { part: 'file', maxBytes: logoLimits.bytes, fields: z.strictObject({}) },
    returns: OwnBranding,
    problems: ['CONFLICT', 'OBJECT_STORE_UNAVAILABLE'],
    summary: 'Set the logo: PNG, JPEG or WebP, at most 512 KB, 16 to 2048 pixels on each side',
  }),
  deleteLogo: endpoint({
    method: 'DELETE',
    audit: 'tenant.changed',
    path: `${path}/logo`,
    auth,
    returns: OwnBranding,
    problems: ['CONFLICT'],
    summary: 'Remove the logo. Idempotent',
  }),
  showLogo: endpoint({
    method: 'GET',
    path: logoRoute,
    auth: open,
    params: z.object({ logoId: LogoKey }),
    returns: file,
    problems: ['NOT_FOUND', 'OBJECT_STORE_UNAVAILABLE'],
    summary: 'Download a logo, for example for an `<img>`; its id is in `branding.logoPath`',
  }),
} as const satisfies Contract
