// The parts of ECharts that are used; the rest stays out of the page.

import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import { GraphicComponent, GridComponent, TooltipComponent, VisualMapContinuousComponent } from "echarts/components";
import { use } from "echarts/core";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";

use([
  BarChart,
  CustomChart,
  HeatmapChart,
  LineChart,
  ScatterChart,
  GraphicComponent,
  GridComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
  CanvasRenderer,
  SVGRenderer,
]);

export { graphic, init, type ECharts } from "echarts/core";
