// Name, colour and logo of a tenant in its apps: which images and colours are accepted, and how readable a colour is.
// Stores nothing, and trusts no declared type of an image.
export { Branding, BrandingChange, brandingOf, type StoredBranding } from './branding.ts'
export { brandingContract, type OwnBranding } from './contract.ts'
export { contrast, minContrast, textOn } from './contrast.ts'
export { logoLimits } from './logo-limits.ts'
