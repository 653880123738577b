// The pages of the web console and of schools: the built files with their security headers, under the daemon's own name alone.
// It answers no call of the API and knows no session.
export { consolePages, schoolPages, vendorPages, webPages } from './console-pages.ts'
