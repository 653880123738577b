import { z } from 'zod'
import { textOn } from './contrast.ts'

const Color = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #0b5394')
  .transform((color) => color.toLowerCase())

/** The appearance of a tenant in its apps (spec 2.6). */
export const Branding = z.object({
  tenantName: z.string(),
  color: z.string().nullable().meta({ description: 'As `#rrggbb`' }),
  textColor: z.string().nullable().meta({ description: 'Black or white: text on `color` has a contrast of at least 4.5 to it' }),
  logoPath: z.string().nullable().meta({ description: 'Path on this platform. It needs no login, and another logo has another path' }),
})
export type Branding = z.infer<typeof Branding>

/** As a tenant has it stored. */
export type StoredBranding = Readonly<{ tenantName: string; color: string | null; logoId: string | null }>

export const LogoKey = z.string().regex(/^logo_[0-9a-z]{20}$/, 'must be the id of a logo')

export const logoRoute = '/api/public/logos/:logoId'

export const brandingOf = ({ tenantName, color, logoId }: StoredBranding): Branding => ({
  ...{ tenantName, color, textColor: color && textOn(color) },
  logoPath: logoId && logoRoute.replace(':logoId', logoId),
})

/** A change by users or operators; a logo is uploaded. */
export const BrandingChange = z
  .strictObject({
    tenantName: z.string().trim().min(1).max(100).optional(),
    color: Color.nullable().optional().meta({ description: 'null: none' }),
  })
  .refine((change) => Object.keys(change).length > 0, 'must change something: tenantName or color')
  .meta({ minProperties: 1 })
export type BrandingChange = Readonly<z.output<typeof BrandingChange>>
