// What the outermost side of the platform decides before anybody is identified: from which web pages and apps answers may be read,
// and what is said to browsers about it. It never decides who somebody is or what they may do: a browser is no guard of that.
export { chatHostOf, corsHeaders, wrongNativeOrigin } from './origins.ts'
