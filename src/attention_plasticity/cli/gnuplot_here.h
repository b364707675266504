#pragma once

#include "attention_plasticity/figure/gnuplot.h"

namespace attention_plasticity {

/// The gnuplot in the user's PATH; its program is empty when there is none.
Gnuplot gnuplot_here();

}  // namespace attention_plasticity
