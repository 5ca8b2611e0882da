// gateway: HTTP as functions from request to response: ArangoDB's shapes for data, OpenAI's for models (R34).
export { CursorStore } from './data/CursorStore.js';
export { gatewayError, gatewayErrors } from './errors.js';
export { Gateway } from './Gateway.js';
export { gatewayRoutes } from './gatewayRoutes.js';
export { type GatewayOptions, gatewayOptions } from './options.js';
export type { Readiness } from './Readiness.js';
export type { Route, RouteContext } from './Route.js';
