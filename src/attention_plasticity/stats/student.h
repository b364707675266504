#pragma once

namespace attention_plasticity {

/// The two-sided p of Student's t: the probability that |T| >= |t| for T with `degrees` > 0 degrees of freedom.
///
/// It is the regularised incomplete beta function I_x(degrees/2, 1/2) at x = degrees / (degrees + t²). Small p keep
/// their digits: the relative error is below 1e-12. NaN for NaN; 0 for an infinite t.
double student_p(double t, double degrees);

}  // namespace attention_plasticity
