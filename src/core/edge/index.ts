// CORS rules of the platform, applied before authentication: which origins may read which responses.
// They identify no caller and permit nothing.
export { chatHostOf, corsHeaders, defaultNativeOrigins, wrongNativeOrigin } from './origins.ts'
